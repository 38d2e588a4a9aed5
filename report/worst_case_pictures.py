"""Where the clients were: one run of every defence, under the attack that hurt it most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagma.errors import TagmaError
from tagma.foreign_file import in_folder
from tagma.report.bench_data import ALL, Bench, BenchCell
from tagma.report.figure_files import Sheet
from tagma.report.folder_files import readable
from tagma.report.leaderboard import RankedDefence
from tagma.report.run_data import Run
from tagma.report.run_figures import clients_sheet
from tagma.report.run_headline import misclustered
from tagma.report.run_reading import read_run
from tagma.report.scatter import Picture, draw_picture

SHOWN = 8


@dataclass(frozen=True)
class WorstCase:
    """A picture, its run and its sheet."""

    heading: str
    note: str
    run: Run
    picture: Picture
    sheet: Sheet


def worst_cases(
    bench: Bench, standings: Sequence[RankedDefence]
) -> tuple[list[WorstCase], list[str]]:
    """At most `SHOWN` pictures, in the leaderboard's order, and the folders that are damaged."""
    found: list[WorstCase] = []
    damaged: list[str] = []
    for one in standings:
        cell = next(_kept(bench, one), None)
        if cell is None or len(found) == SHOWN:
            continue
        try:
            run = _run(bench, cell)
        except TagmaError:
            damaged.append(f"cells/{cell.key}")
            continue
        name = f"clients-{len(found) + 1}"
        words = [
            one.defence,
            "" if one.worst == ALL else f"under {bench.condition(cell)}",
            one.setting,
        ]
        heading = ", ".join(filter(None, words))
        picture = draw_picture(run, f"{name}-")
        if picture is not None:
            sheet = clients_sheet(run, picture, name, heading)
            found.append(WorstCase(heading, _note(run, cell), run, picture, sheet))
    return found, damaged


def _run(bench: Bench, cell: BenchCell) -> Run:
    with readable(bench.folder):  # neither of the two may be a link to somebody else's
        folder = in_folder(bench.folder, "cells", cell.key)
        in_folder(folder, "metrics.json")
    return read_run(folder)


def _folder(bench: Bench, cell: BenchCell) -> Path:
    return bench.folder / "cells" / cell.key


def _kept(bench: Bench, one: RankedDefence) -> Iterator[BenchCell]:
    """The defence's cells that left a run folder, those of its worst condition first."""
    own = [
        cell
        for cell in bench.cells
        if (bench.defence(cell), bench.setting(cell)) == (one.defence, one.setting)
        and (_folder(bench, cell) / "metrics.json").is_file()
    ]
    return iter(sorted(own, key=lambda cell: bench.condition(cell) != one.worst))


def _note(run: Run, cell: BenchCell) -> str:
    wrong = misclustered(run)
    if wrong is None:
        return f"seed {cell.seed}"
    return f"seed {cell.seed}: {wrong} of {run.honest} honest clients in the wrong cluster"
