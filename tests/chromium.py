"""Chromium for tests that open pages; they are skipped where there is none.

Needs Chromium and its driver (Debian: chromium, chromium-driver) and selenium (a dev dependency).
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
DRIVER = shutil.which("chromedriver")
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="no Chromium here: `.ci/browser` installs it where apt-get can",
    ),
]


def started() -> Iterator[Any]:
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    from selenium.webdriver.chrome.service import Service

    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


def resize(browser: Any, width: int, theme: str = "light") -> None:
    """A window of a width, of somebody who likes it light or dark."""
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def stick_out(browser: Any) -> list[str]:
    """What is wider than the window, but in parts that scroll."""
    script = (
        "return [...document.body.querySelectorAll('*')].filter(one => !one.closest('.scroll, svg,"
        " pre') && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)"
    )
    return list(browser.execute_script(script))


def errors(browser: Any) -> list[str]:
    """What the console has to complain of."""
    return [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]
