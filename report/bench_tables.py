"""The rows of the tables on a bench's page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagma.report.bench_data import Bench, BenchCell
from tagma.report.run_tables import shorten_reason

SHOWN_CELLS = 2000


@dataclass(frozen=True)
class SpentRow:
    """Medians over a defence's runs, by their names in timings.csv."""

    setting: str
    defence: str
    runs: int
    medians: dict[str, float]


@dataclass(frozen=True)
class FailedRow:
    """Cells that failed alike."""

    where: tuple[str, ...]
    seeds: str
    status: str
    reason: str


def spent_rows(bench: Bench) -> list[SpentRow]:
    """One row per setting and defence that has times."""
    groups: dict[tuple[str, str], list[BenchCell]] = {}
    for cell in bench.cells:
        if cell.times:
            groups.setdefault((bench.setting(cell), bench.defence(cell)), []).append(cell)
    return [
        SpentRow(
            setting, defence, len(groups[setting, defence]), _medians(groups[setting, defence])
        )
        for setting in bench.settings_varied
        for defence in bench.defences
        if (setting, defence) in groups
    ]


def _medians(cells: Sequence[BenchCell]) -> dict[str, float]:
    names = {name for cell in cells for name in cell.times}
    return {
        name: float(np.median([cell.times[name] for cell in cells if name in cell.times]))
        for name in names
    }


def failed_rows(bench: Bench) -> list[FailedRow]:
    """The cells without a result; seeds that failed alike share a row."""
    groups: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for cell in bench.failed:
        where = tuple(cell.values[axis.key] for axis in bench.axes)
        groups.setdefault((where, cell.status, cell.reason), []).append(cell.seed)
    return [
        FailedRow(where, ", ".join(seeds), status, shorten_reason(reason))
        for (where, status, reason), seeds in groups.items()
    ]
