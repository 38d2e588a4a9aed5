"""Texts of anybody: they say what they said, and can do nothing else."""

import ast
import csv
import io
import logging
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tagma.escaping import (
    LogLines,
    TableWriter,
    cell,
    is_plain_name,
    one_line,
    text_of_cell,
    tracked_name,
    visible,
)

ROOT = Path(__file__).parents[2]
ROOMS = ("attacks", "bench", "client", "launch", "report", "server", "strategies", "tagma", "tasks")
TEXTS = st.text(max_size=60) | st.text("=+-@;'1e.\t\r\n|!\x1b[\u202e", max_size=12)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cluster 3: 12 %, größer – ∞", "cluster 3: 12 %, größer – ∞"),
        ("two\nlines\tand more", "two\nlines\tand more"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("over\rwritten\x08\x7f\x9b1m\x00", "over\\rwritten\\x08\\x7f\\x9b1m\\x00"),
        ("file\u202egnp.exe\u200b\ufeff", "file\\u202egnp.exe\\u200b\\ufeff"),
        ("1\u202f200\u00a0km", "1\u202f200\u00a0km"),
        ("\ud800 \U000e0041", "\\ud800 \\U000e0041"),
    ],
)
def test_what_shows_nothing_is_written_as_a_code(text, shown):
    assert visible(text) == shown


@given(TEXTS)
def test_one_line_is_one_of_limited_length_that_everything_can_encode(text):
    line = one_line(text, 30)
    assert len(line) <= 30
    assert len(line.splitlines()) <= 1
    assert line.encode("utf-8").decode("utf-8") == line == visible(line)


def test_a_long_text_ends_with_a_mark():
    assert one_line("x" * 10**6) == "x" * 299 + "…"
    assert one_line("a\n b\r\n\u2028c") == "a b c"


@pytest.mark.parametrize(
    "text", ["", "-1", "-1.5e-3", "+5", "-inf", "-nan", "-", "=", "a=b", "3 - 2", "[1, 2]", "a;-1"]
)
def test_numbers_and_ordinary_texts_stay_as_they_are(text):
    assert cell(text) == text


@pytest.mark.parametrize("value", [-1, -1.5, float("-inf"), None, True])
def test_what_is_no_text_stays_as_it_is(value):
    assert cell(value) is value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+cmd|x", "'+1+cmd|x"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1", "'  =1"),
        ("ordinary;=1+1", "ordinary;'=1+1"),
        ("＝1+1", "'＝1+1"),
        ("\t=1", "\\t=1"),
        ("\r=1", "\\r=1"),
        ("\n=1", "\\n=1"),
        ("'=1", "''=1"),
    ],
)
def test_what_a_spreadsheet_would_compute_is_a_text(text, written):
    assert cell(text) == written


@given(TEXTS.filter(str.isprintable))
@example("'-1")
@example("''=x;'-1;-1;'@a")
def test_a_cell_is_read_as_what_was_written(text):
    assert text_of_cell(cell(text)) == text


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_no_cell_of_a_table_begins_a_formula_wherever_cells_end(texts):
    file = io.StringIO(newline="")
    TableWriter(file).row(texts)
    (row,) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    for text in row:
        for part in text.split(";"):
            begins = part.lstrip()[:1] in tuple("=+-@＝＋－＠") and len(part.strip()) > 1
            assert not begins or is_number(part), row
        assert not set(text) & set("\t\r\n\x00\x1b")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_names_of_trackers_are_no_paths():
    assert tracked_name("round/top 5/f1-score.x") == "round/top 5/f1-score.x"
    assert tracked_name("round/../../etc/passwd") == "round/etc/passwd"
    assert tracked_name("/abs\n=\x1b[1m") == "abs____1m"
    assert tracked_name("..") == "_"
    assert len(tracked_name("x" * 10**6)) == 200


def test_names_that_no_log_could_show_are_not_plain():
    assert all(map(is_plain_name, ("loss", "top-5 accuracy", "größe")))
    assert not any(map(is_plain_name, ("a\nb", "a\x1b[1m", "\u202ea", "x" * 201, b"loss", 7)))


def test_every_record_begins_a_line_and_nothing_else_does():
    text = "first\n2026-11-16 12:00:00,000 ERROR tagma: all is lost\r\x1b[2K"
    record = logging.LogRecord("tagma", logging.INFO, "", 0, "%s", (text,), None)
    first, second = LogLines().format(record).split("\n")
    assert first.endswith(" INFO tagma: first")
    assert second == "    2026-11-16 12:00:00,000 ERROR tagma: all is lost\\r\\x1b[2K"


def names_used(file: Path) -> set[str]:
    """Every `module.name` and `name` that a file calls."""
    calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    return {ast.unparse(call.func) for call in calls}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("csv.writer", ["tagma/escaping.py"]),
        ("csv.DictWriter", []),
        ("Console", []),
        ("logging.Formatter", []),
        ("Environment", ["launch/deploy/compose_file.py", "report/templating.py"]),
        ("Text.from_markup", []),
        ("Markup", []),
    ],
)
def test_texts_leave_by_one_door_each(name, places):
    users = [
        file.relative_to(ROOT).as_posix()
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if name in names_used(file)
    ]
    assert users == places


def test_no_template_lets_a_text_through_unescaped():
    for file in (ROOT / "report/templates").glob("*.md"):
        text = file.read_text().replace("""{{ ' class="n"' | safe if numeric }}""", "")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", text), file


def test_an_error_that_has_no_words_is_a_line_as_well():
    class Wordless(Exception):
        def __str__(self):
            raise ValueError

    assert one_line(Wordless()) == "it cannot be said in words"
