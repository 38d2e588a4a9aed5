"""Texts of clients, files and settings, made harmless for where they are logged, shown or written.

A text may be anybody's: an error reply, the name of a metric, a class or a column, a setting in a
stranger's folder. It says what it said, and can do nothing else: start a line of a log, move the
cursor of a terminal, turn the direction of reading, or become a formula of a spreadsheet. Pages are
escaped by Jinja (`tagma.report.templating`), tables for TeX by `tagma.report.latex`.
"""

import csv
import logging
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO, TypeGuard

LONGEST = 300
"""Characters of a text of a client that are logged."""
_LONGEST_NAME = 200
_NUMBER = r"[+-](?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)(?![^;])"
_FORMULA = re.compile(rf"(?:^|(?<=;))(?='*\s*[=+@＝＋－＠-][^;])(?!{_NUMBER})", re.I)
"""Where a spreadsheet would begin to compute; some take ; for the end of a cell."""
_QUOTED = re.compile(rf"(?:^|(?<=;))'(?='*\s*[=+@＝＋－＠-][^;])(?!{_NUMBER})", re.I)


def visible(text: str) -> str:
    """The text, its lines and tabs; any other character that shows nothing is written as a code."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _shows(c) else _code(c) for c in text)


def one_line(text: object, most: int = LONGEST) -> str:
    """The text on one line of at most so many characters."""
    try:
        words = str(text)[: 4 * most]
    except Exception:  # an error of somebody's own kind
        words = "it cannot be said in words"
    line = visible(" ".join(words.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def is_plain_name(name: object) -> TypeGuard[str]:
    """Whether a name that a client uses can stand on any line as it is."""
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and name.isprintable()


def tracked_name(name: str) -> str:
    """A name that every tracker takes, and that is no path out of its folder."""
    parts = re.sub(r"[^\w/. -]", "_", name)[:_LONGEST_NAME].split("/")
    return "/".join(part for part in parts if part.strip(". ")) or "_"


def cell(value: Any) -> Any:
    """A cell of a table; a text that a spreadsheet would compute gets an apostrophe before it.

    Numbers stay numbers, also as texts; text without control characters is left as it is.
    """
    if not isinstance(value, str):
        return value
    shown = value if value.isprintable() else "".join(c if _shows(c) else _code(c) for c in value)
    return _FORMULA.sub("'", shown)


def text_of_cell(text: str) -> str:
    """What `cell` was given."""
    return _QUOTED.sub("", text) if "'" in text else text


class TableWriter:
    """Writes rows of CSV, each cell harmless."""

    def __init__(self, file: TextIO, *, lineterminator: str = "\n") -> None:
        self._table = csv.writer(file, lineterminator=lineterminator)

    def row(self, values: Iterable[Any]) -> None:
        """Write one row."""
        self._table.writerow([cell(value) for value in values])

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write several."""
        for values in rows:
            self.row(values)


class LogLines(logging.Formatter):
    """Records of a log, each of which begins a line; the lines that belong to it are indented."""

    def __init__(self, fmt: str | None = None, *how: Any, **more: Any) -> None:
        super().__init__(fmt or "%(asctime)s %(levelname)s %(name)s: %(message)s", *how, **more)

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        return visible(super().format(record)).replace("\n", "\n    ")


def _shows(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
