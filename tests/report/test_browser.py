"""The reports as a reader meets them: in a browser, at three widths, with a pointer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tagma.report import write_bench_report, write_run_report
from tests.chromium import IN_BROWSER, errors, resize, stick_out, webdriver
from tests.report.report_folders import HOSTILE, bench_folder, folder, grid_rows

pytestmark = IN_BROWSER
WIDTHS = (400, 1000, 1600)
SMUGGLED = (
    "<script>document.title = 'owned'</script>"
    "<img src='missing.png' onerror=\"document.title = 'owned'\"><img src='report.html'>"
    "<style>main { font-size: 99px }</style><p id='smuggled' style='font-size: 99px'>x</p>"
    "<link rel='stylesheet' href='report.html'>"
)
"""What a page would have in it if a text were not escaped."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a run, of a bench, and of a bench that failed and has hostile words in it."""
    root = tmp_path_factory.mktemp("pages")
    rows = grid_rows()
    rows[-1] |= {"status": "failed", "reason": HOSTILE[:-1], "estimation_error": ""}
    for row in rows:
        row["defence"] += "_with_a_rather_long_name_" * (row["defence"] == "paper")
    return {
        "run": write_run_report(folder(root / "run")),
        "bench": write_bench_report(bench_folder(root / "bench")),
        "failed": write_bench_report(bench_folder(root / "failed", rows)),
    }


NAMES = pytest.mark.parametrize("name", ["run", "bench", "failed"])


def show(browser: Any, page: Path, width: int = 1000, theme: str = "light") -> None:
    """Open a page in a window of a width, with everything unfolded."""
    resize(browser, width, theme)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(d => (d.open = true))")


def column(browser: Any, table: str, number: int) -> list[str]:
    """The text of a table's column, from top to bottom."""
    rows = f"{table} tbody tr"
    script = (
        "return [...document.querySelectorAll(arguments[0])].filter(row => !row.hidden)"
        ".map(row => row.cells[arguments[1]].textContent.trim())"
    )
    return list(browser.execute_script(script, rows, number))


def click(browser: Any, selector: str, number: int = 0) -> None:
    browser.execute_script(
        "document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, number
    )


def point_at(browser: Any, selector: str) -> None:
    """Move the pointer to the first such mark, once the page has scrolled there."""
    element = browser.find_element("css selector", selector)
    browser.execute_async_script(
        "arguments[0].scrollIntoView({block: 'center'});"
        "requestAnimationFrame(() => requestAnimationFrame(arguments[1]))",
        element,
    )
    webdriver.ActionChains(browser).move_to_element(element).perform()


@NAMES
def test_a_page_opens_without_errors_and_asks_for_nothing_else(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    browser.get_log("performance")
    show(browser, pages[name])
    assert errors(browser) == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [pages[name].as_uri()]


@NAMES
def test_all_figures_of_a_page_have_a_size_and_something_in_them(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    show(browser, pages[name])
    script = (
        "return [...document.querySelectorAll('svg[role=img]')].map(svg => { const box ="
        " svg.getBoundingClientRect(); return [box.width, box.height,"
        " svg.querySelectorAll('path, rect, circle, use').length]; })"
    )
    sizes = browser.execute_script(script)
    assert len(sizes) == {"run": 4, "bench": 15, "failed": 15}[name]
    assert all(width > 100 and height > 50 and inside > 3 for width, height, inside in sizes)


@NAMES
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_of_a_page(
    browser: Any, pages: dict[str, Path], name: str, width: int
) -> None:
    show(browser, pages[name], width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert stick_out(browser) == []


@NAMES
def test_texts_in_a_figure_stay_within_it(browser: Any, pages: dict[str, Path], name: str) -> None:
    show(browser, pages[name], 1600)
    script = (
        "return [...document.querySelectorAll('svg[role=img] text')].filter(text => {"
        " const box = text.getBoundingClientRect();"
        " const all = text.closest('svg[role=img]').getBoundingClientRect();"
        " return box.left < all.left - 2 || box.right > all.right + 2"
        " || box.bottom > all.bottom + 2 || box.top < all.top - 2; }).map(text => text.textContent)"
    )
    assert browser.execute_script(script) == []


def test_a_click_on_a_heading_sorts_and_another_turns_the_order(
    browser: Any, pages: dict[str, Path]
) -> None:
    show(browser, pages["bench"])
    board = "section[aria-labelledby=leaderboard] table"
    assert column(browser, board, 1) == ["tagma", "paper", "undefended"]
    click(browser, f"{board} thead button", 2)
    click(browser, f"{board} thead button", 2)
    assert column(browser, board, 1) == ["undefended", "paper", "tagma"], "diverged is the most"
    click(browser, f"{board} thead button", 1)
    assert column(browser, board, 1) == ["paper", "tagma", "undefended"]
    assert browser.execute_script(
        "return document.querySelectorAll(arguments[0])[1].getAttribute('aria-sort')",
        f"{board} thead th",
    ) == "ascending"  # fmt: skip


def test_a_word_in_the_filter_leaves_the_rows_that_have_it(
    browser: Any, pages: dict[str, Path]
) -> None:
    show(browser, pages["bench"])
    table = "table.filterable"
    assert len(column(browser, table, 0)) == 27
    browser.execute_script(
        "const input = document.querySelector('.filter input'); input.value = 'alie paper';"
        "input.dispatchEvent(new Event('input'))"
    )
    assert column(browser, table, 0) == ["alie"] * 3
    assert browser.execute_script("return document.querySelector('.filter output').value") == (
        "3 of 27"
    )


@pytest.mark.parametrize(
    ("name", "mark", "words"),
    [
        ("bench", ".heatmap .tile", "tagma, none: 0.120"),
        ("bench", ".dots use", "tagma: 0.170"),
        ("bench", ".lines .d2 .spot", "tagma, round 0: 0.240 (0.220 to 0.260)"),
        ("bench", ".panel [data-client='1']", "client 1: found in cluster 0"),
        ("run", ".lines .spot", "this run, clustering iteration 0: 50.0%"),
    ],
)
def test_a_mark_under_the_pointer_says_its_value(
    browser: Any, pages: dict[str, Path], name: str, mark: str, words: str
) -> None:
    show(browser, pages[name])
    point_at(browser, mark)
    tip = browser.find_element("css selector", ".tip")
    assert tip.is_displayed()
    assert tip.text.startswith(words)


def test_a_client_under_the_pointer_is_marked_in_both_panels(
    browser: Any, pages: dict[str, Path]
) -> None:
    show(browser, pages["run"])
    point_at(browser, ".panel [data-client='2']")
    assert len(browser.find_elements("css selector", ".panel .mark.found")) == 2
    assert "client 2" in browser.find_element("css selector", ".find output").text


def test_a_defence_can_be_singled_out_without_a_script(
    browser: Any, pages: dict[str, Path]
) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(pages["bench"].as_uri())
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.find_elements("css selector", "thead button") == [], "no script has run"
    click(browser, ".curves input[value=d1]")
    script = "return getComputedStyle(document.querySelector(arguments[0])).opacity"
    assert browser.execute_script(script, ".curves .series.d0") == "0.08"
    assert browser.execute_script(script, ".curves .series.d1") == "1"


@NAMES
def test_dark_pages_have_light_text_on_dark(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    style = "const {color, backgroundColor} = getComputedStyle(document.body); return %s"
    seen = []
    for theme in ("light", "dark"):
        show(browser, pages[name], theme=theme)
        seen.append(browser.execute_script(style % "[color, backgroundColor]"))
    bright = [[sum(map(int, text[4:-1].split(","))) for text in pair] for pair in seen]
    assert bright[0][0] < 200 < 600 < bright[0][1]
    assert bright[1][1] < 200 < 600 < bright[1][0]


@pytest.mark.parametrize("figure", ["leaderboard", "heatmap", "rounds", "clients-1"])
def test_a_figure_of_its_own_can_be_opened(
    browser: Any, pages: dict[str, Path], figure: str
) -> None:
    browser.get((pages["bench"].parent / "figures" / f"{figure}.svg").as_uri())
    assert browser.execute_script("return document.documentElement.tagName") == "svg"
    assert browser.execute_script("return document.documentElement.getBBox().width") > 100


@NAMES
def test_what_is_smuggled_into_a_page_neither_runs_nor_loads(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    text = pages[name].read_text(encoding="utf-8")
    bad = pages[name].with_name("smuggled.html")
    bad.write_text(text.replace("<main>", f"<main>{SMUGGLED}", 1), encoding="utf-8")
    browser.get_log("performance")
    show(browser, bad)
    assert "owned" not in browser.title
    font = "return getComputedStyle(document.querySelector(arguments[0])).fontSize"
    assert browser.execute_script(font, "main") != "99px"
    assert browser.execute_script(font, "#smuggled") != "99px"
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    answered = [e for e in events if e["method"] == "Network.responseReceived"]
    assert [one["params"]["response"]["url"] for one in answered] == [bad.as_uri()]
    assert browser.find_elements("css selector", "thead button"), "the page's own script has run"
