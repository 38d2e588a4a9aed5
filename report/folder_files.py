"""The files of a run or a bench folder: what is missing or damaged is one clear line."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from yaml import YAMLError

from tagma.atomic_file import whole_file
from tagma.errors import TagmaError
from tagma.escaping import text_of_cell
from tagma.foreign_file import MOST_TEXT, plain_file, room

_DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, csv.Error,
    SafetensorError, YAMLError,
)  # fmt: skip
"""What reading a file raises that is not what it should be."""
_ROW, _CELL = 300, 120
"""Bytes of memory for a row of a table, and for each of its cells."""


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Everything that is wrong with the files read within is a `TagmaError` about the folder."""
    try:
        yield
    except FileNotFoundError as error:
        raise TagmaError(f"{folder}: {Path(error.filename).name} is missing") from None
    except _DAMAGED as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise TagmaError(f"{folder}: a file in it is damaged ({why})") from None


def csv_rows(path: Path, required: bool = False) -> list[dict[str, str]]:
    """The rows of a table by its columns; none where the file is missing and may be."""
    if not path.exists() and not required:
        return []
    rows, left = [], room()
    with plain_file(path, MOST_TEXT).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.append(
                {text_of_cell(k): text_of_cell(v or "") for k, v in row.items() if k is not None}
            )
            left -= _ROW + _CELL * len(row)
            if left < 0:
                raise ValueError(f"{path.name} has more rows than there is room for")
    return rows


def write_page(folder: Path, page: str) -> Path:
    """`report.html`, at once and whole."""
    path = folder / "report.html"
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")
    return path
