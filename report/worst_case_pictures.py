"""Where the clients were: one run of every defence, under the attack that hurt it most."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from tagma.report.bench_data import ALL, Bench, GridCell
from tagma.report.figure_files import Sheet
from tagma.report.leaderboard import Standing
from tagma.report.run_data import Run
from tagma.report.run_figures import clients
from tagma.report.run_headline import misclustered
from tagma.report.run_reading import read_run
from tagma.report.scatter import Picture, draw_picture

SHOWN = 8
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, csv.Error, SafetensorError)
"""What reading a folder of a run raises that is not what it should be."""


@dataclass(frozen=True)
class Place:
    """A picture, its run and its sheet."""

    heading: str
    note: str
    run: Run
    picture: Picture
    sheet: Sheet


def places(bench: Bench, standings: Sequence[Standing]) -> tuple[list[Place], list[str]]:
    """At most `SHOWN` pictures, in the leaderboard's order, and the folders that are damaged."""
    found: list[Place] = []
    damaged: list[str] = []
    for one in standings:
        cell = next(_kept(bench, one), None)
        if cell is None or len(found) == SHOWN:
            continue
        try:
            run = read_run(_folder(bench, cell))
        except _DAMAGED:
            damaged.append(f"cells/{cell.key}")
            continue
        name = f"clients-{len(found) + 1}"
        words = [
            one.defence,
            "" if one.worst == ALL else f"under {bench.condition(cell)}",
            one.setting,
        ]
        heading = ", ".join(filter(None, words))
        sheet = clients(run, name, heading)
        picture = draw_picture(run, f"{name}-")
        if sheet is not None and picture is not None:
            found.append(Place(heading, _note(run, cell), run, picture, sheet))
    return found, damaged


def _folder(bench: Bench, cell: GridCell) -> Path:
    return bench.folder / "cells" / cell.key


def _kept(bench: Bench, one: Standing) -> Iterator[GridCell]:
    """The defence's cells that left a run folder, those of its worst condition first."""
    own = [
        cell
        for cell in bench.cells
        if (bench.defence(cell), bench.setting(cell)) == (one.defence, one.setting)
        and (_folder(bench, cell) / "metrics.json").is_file()
    ]
    return iter(sorted(own, key=lambda cell: bench.condition(cell) != one.worst))


def _note(run: Run, cell: GridCell) -> str:
    wrong = misclustered(run)
    known = (
        "" if wrong is None else f": {wrong} of {run.honest} honest clients in the wrong cluster"
    )
    return f"seed {cell.seed}{known}"
