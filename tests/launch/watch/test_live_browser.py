"""The live page as a spectator meets it: in a browser, while a run goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tagma.launch.watch import page_frames
from tagma.launch.watch.live_source import LiveSource
from tagma.launch.watch.page_server import PageServer, served
from tests.chromium import IN_BROWSER, errors, resize, stick_out
from tests.launch.watch.replay import Replay, recorded

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("recorded") / "run")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, browser: Any) -> Iterator[None]:
    monkeypatch.setattr(page_frames, "_PAUSE", 0.05)
    yield
    browser.get("about:blank")
    browser.get_log("browser")  # that the server of this test has gone


def text(browser: Any, selector: str) -> str:
    script = "return document.querySelector(arguments[0])?.textContent ?? ''"
    return str(browser.execute_script(script, selector))


def wait_for(browser: Any, selector: str, words: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 30, 0.05).until(lambda _: words in text(browser, selector), words)


def test_every_one_of_thirty_rounds_arrives_and_the_page_ends_as_the_report(
    browser: Any, source: Path, tmp_path: Path
) -> None:
    replay = Replay(source, tmp_path / "run")
    resize(browser, 1400)
    with served(LiveSource(tmp_path / "run")) as server:
        browser.get(server.address)
        assert "Waiting for a run to begin" in text(browser, "h1")
        replay.until(0)
        wait_for(browser, "h1", "Stage I")
        for number in range(1, 31):
            replay.until(number)
            wait_for(browser, "h1", f"round {number + 1} of 31")
        assert "client 4: no answer" in text(browser, "#log")
        assert "client 4: answering again" in text(browser, "#log")
        assert "in quarantine" in text(browser, "#client-1 .state")
        assert text(browser, "#client-4 .state") == "online"
        assert browser.execute_script("return document.querySelectorAll('.panel').length") == 2
        assert errors(browser) == []
        replay.end()
        wait_for(browser, ".brand", "run report")
        assert browser.current_url.endswith("/report")
        assert "Run it again" in text(browser, "main")
        assert errors(browser) == []


def test_a_page_goes_on_after_its_server_was_away(
    browser: Any, source: Path, tmp_path: Path
) -> None:
    replay = Replay(source, tmp_path / "run")
    replay.until(3)
    live = LiveSource(tmp_path / "run")
    with served(live) as server:
        browser.get(server.address)
        port = int(server.address.rsplit(":", 1)[1].strip("/"))
        replay.until(4)
        wait_for(browser, "h1", "round 5 of 31")
    wait_for(browser, "#link", "nobody answers")
    replay.until(9)
    again = PageServer(live, "127.0.0.1", port)
    try:
        wait_for(browser, "h1", "round 10 of 31")
        wait_for(browser, "#link", "")
        assert browser.execute_script("return document.querySelectorAll('#log li').length") > 2
    finally:
        again.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_sticks_out_and_the_colours_are_those_of_the_theme(
    browser: Any, source: Path, tmp_path: Path, width: int, theme: str
) -> None:
    Replay(source, tmp_path / "run").until(12)
    resize(browser, width, theme)
    with served(LiveSource(tmp_path / "run")) as server:
        browser.get(server.address)
        wait_for(browser, "h1", "round 13 of 31")
        assert stick_out(browser) == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) > 600) == (theme == "light")
        assert errors(browser) == []


def test_a_cluster_that_is_singled_out_stays_so_when_the_picture_changes(
    browser: Any, source: Path, tmp_path: Path
) -> None:
    replay = Replay(source, tmp_path / "run")
    replay.until(2)
    with served(LiveSource(tmp_path / "run")) as server:
        browser.get(server.address)
        browser.execute_script("document.querySelector('#places input[value=\"1\"]').click()")
        replay.until(6)
        wait_for(browser, "h1", "round 7 of 31")
        assert browser.execute_script(
            "return document.querySelector('#places input[value=\"1\"]').checked"
        )


def test_words_of_a_stranger_are_words(browser: Any, source: Path, tmp_path: Path) -> None:
    replay = Replay(source, tmp_path / "run")
    replay.until(3)
    evil = "<script>document.title = 'owned'</script><img src=x onerror='document.title=1'>"
    line = (
        f'{{"event": "round", "at": 1.0, "round": 4, "work": "{evil}", "models": 2, '
        f'"clients": [[2, 0, 0, 0, 0, 0, 0, 3]], "happened": '
        f'[[4, "rejected", 2, "{evil}"]], "nodes": [[3, "{evil}"]], '
        f'"measured": {{"{evil}": [[3, 1.5]]}}}}\n'
    )
    with served(LiveSource(tmp_path / "run")) as server:
        browser.get(server.address)
        with (tmp_path / "run/events.jsonl").open("a") as file:
            file.write(line)
        wait_for(browser, "#client-2", "<script>")
        assert "<script>" in text(browser, "#log")
        assert "owned" not in browser.title
        assert (
            browser.execute_script(
                "return document.querySelectorAll('main img, main script').length"
            )
            == 0
        )
