"""Figures as files: NAME.svg, NAME.csv with the numbers that are in it, NAME.pdf for a paper.

A sheet may have several panels; they stand in rows, with a key under them. Other programs than
browsers know no CSS variables, so the light colours are written out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tagma.atomic_file import whole_file
from tagma.escaping import TableWriter
from tagma.foreign_file import own_folder
from tagma.report.figure_pdf import write_pdf
from tagma.report.short_labels import LETTER
from tagma.report.templating import templates

MARGIN, GAP, LINE = 14, 26, 24
_ENDS = ("svg", "csv", "pdf")


@dataclass(frozen=True)
class Key:
    """An entry of the key: what a mark means; `x` and `y` are its place on the sheet."""

    shape: str
    style: str
    words: str
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Sheet:
    """A figure: its panels, `across` of them in a row, and its data as a table.

    A panel has an id, a title, a description, a width and a height, and a `kind`: the macro of
    templates/figures.svg.md that draws it.
    """

    name: str
    title: str
    panels: tuple[Any, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    keys: tuple[Key, ...] = ()
    across: int = 3


def write_sheets(
    folder: Path, sheets: Sequence[Sheet], ours: Iterable[str], *, pdf: bool = False
) -> None:
    """Write every sheet; files of earlier ones, as the globs in `ours` name them, are removed.

    With `pdf`, or where there were PDFs, these are written as well.
    """
    own_folder(folder)
    stale = [file for name in ours for end in _ENDS for file in folder.glob(f"{name}.{end}")]
    for old in stale:
        old.unlink(missing_ok=True)  # another process may be at it, too
    pdf = pdf or any(old.suffix == ".pdf" for old in stale)
    for sheet in sheets:
        drawing = draw(sheet)
        with whole_file(folder / f"{sheet.name}.svg") as partial:
            partial.write_text(drawing, encoding="utf-8")
        if pdf:
            with whole_file(folder / f"{sheet.name}.pdf") as partial:
                write_pdf(drawing, style(paper="#ffffff"), partial)
        with (
            whole_file(folder / f"{sheet.name}.csv") as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            table = TableWriter(file)
            table.row(sheet.columns)
            table.rows([_plain(value) for value in row] for row in sheet.rows)


def draw(sheet: Sheet) -> str:
    """The sheet as an SVG document: panels in rows, then the key."""
    places: list[tuple[Any, float, float]] = []
    width, height = 0.0, float(MARGIN)
    for start in range(0, len(sheet.panels), sheet.across):
        x = float(MARGIN)
        row = sheet.panels[start : start + sheet.across]
        for figure in row:
            places.append((figure, x, height))
            x += figure.width + GAP
        width = max(width, x - GAP + MARGIN)
        height += max(figure.height for figure in row) + GAP
    height += MARGIN - GAP
    keys = [replace(key, y=key.y + height) for key in _in_lines(sheet.keys, width)]
    return (
        templates()
        .get_template("sheet.svg.md")
        .render(
            sheet=sheet,
            width=round(width),
            height=round(keys[-1].y + LINE if keys else height),
            places=places,
            keys=keys,
            style=style(),
        )
    )


def _in_lines(keys: Sequence[Key], width: float) -> Iterator[Key]:
    x, y = MARGIN + 8.0, LINE / 2
    for key in keys:
        needed = 14 + LETTER * len(key.words) + 18
        if x > MARGIN + 8 and x + needed > width:
            x, y = MARGIN + 8.0, y + LINE
        yield replace(key, x=x, y=y)
        x += needed


def style(**other: str) -> str:
    """The figures' CSS with the light colours, or others, in place of their names."""
    source = templates().loader
    assert source is not None
    palette, rules = (
        source.get_source(templates(), name)[0] for name in ("palette.css.md", "figures.css.md")
    )
    light = palette.partition("}")[0]
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", light)) | other
    return re.sub(r"var\(--([\w-]+)\)", lambda name: values[name[1]], rules)


def _plain(value: Any) -> Any:
    """Numbers in full, so that reading them gives them back."""
    return "" if value is None else repr(value) if isinstance(value, float) else value
