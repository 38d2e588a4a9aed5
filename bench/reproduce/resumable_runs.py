"""Progress of an experiment by runs or, where they take hours, by rounds; these are resumed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tagma.bench.cells import Cell
from tagma.bench.federation_cell import FederationCell
from tagma.bench.runner import Counts, Progress
from tagma.launch.progress_bar import ProgressBar
from tagma.server.results.run_folder import HISTORY


def kept(cells: Sequence[Cell], folder: Path) -> list[FederationCell]:
    """The same federations, which keep what is unfinished in the folder."""
    return [replace(cell, kept_in=folder) for cell in cells if isinstance(cell, FederationCell)]


def progress_by_runs(bar: ProgressBar) -> Progress:
    """What shows how many runs are over."""
    return lambda counts: bar.show(*counts.shown)


def progress_by_rounds(bar: ProgressBar, cells: Sequence[FederationCell]) -> Progress:
    """What shows how many rounds of all cells are over."""
    rounds = [cell.settings.rounds + 1 for cell in cells]

    def show(counts: Counts) -> None:
        over = (counts.done + counts.failed) * max(rounds) + sum(map(_rounds_of, cells))
        bar.show(min(over, sum(rounds)), sum(rounds), "rounds of all runs")

    return show


def _rounds_of(cell: FederationCell) -> int:
    """The rounds of an unfinished run that its history has."""
    try:
        assert cell.run_folder is not None
        return max(0, (cell.run_folder / HISTORY).read_bytes().count(b"\n") - 1)
    except OSError:
        return 0
