"""What an experiment of the paper consists of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells import Cell
from bench.reproduce.claims import Claim

Row = dict[str, Any]
"""One trial of one method: the columns of the CSV file."""


@dataclass(frozen=True)
class Experiment:
    """Methods that are compared over trials with different seeds."""

    name: str
    about: str
    common: Sequence[str]
    """Overrides of all methods."""
    methods: Mapping[str, Sequence[str]]
    """Label of each method and its own overrides."""
    measure: Callable[[Mapping[str, Any]], Row]
    """From a run's metrics to the columns that are kept."""
    claims: Callable[[Sequence[Row]], list[Claim]]
    """What the paper says, and what the rows say."""
    draw: Callable[[Sequence[Row], Path], None]
    """Write the figure as PATH.svg and PATH.png."""
    notes: str = ""
    """What a reader of the table should know."""

    def cells(self, trials: int, seed: int, overrides: Sequence[str]) -> list[Cell]:
        """All runs: trial t has the seed `seed + t`."""
        return [
            Cell(method, trial, (*self.common, *own, *overrides, f"seed={seed + trial}"))
            for trial in range(trials)
            for method, own in self.methods.items()
        ]


def values(rows: Sequence[Row], method: str, column: str) -> list[float]:
    """One column of one method, over the trials."""
    return [row[column] for row in rows if row["method"] == method]
