"""What an experiment of the paper consists of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells import ArrayCell, Cell, RunCell
from bench.reproduce.claims import Claim
from launch.run import check
from tagma.errors import TagmaError
from tagma.settings import compose

Row = dict[str, Any]
"""One trial of one method: the columns of the CSV file."""


@dataclass(frozen=True)
class Experiment:
    """Methods that are compared over trials with different seeds."""

    name: str
    about: str
    cells: Callable[[int, int, Sequence[str]], Sequence[Cell]]
    """All work, from the number of trials, the first seed and the user's overrides."""
    measure: Callable[[Mapping[str, Any]], Row]
    """From a run's metrics to the columns that are kept."""
    claims: Callable[[Sequence[Row]], list[Claim]]
    """What the paper says, and what the rows say."""
    draw: Callable[[Sequence[Row], Path], None]
    """Write the figure as PATH.svg and PATH.png."""
    notes: str = ""
    """What a reader of the table should know."""
    heading: str = "the paper says"
    """Over the first column of the table."""


def runs(
    common: Sequence[str], methods: Mapping[str, Sequence[str]]
) -> Callable[[int, int, Sequence[str]], list[RunCell]]:
    """Whole federations: every method, with its own overrides, in every trial.

    Trial t has the seed `seed + t`.
    """

    def cells(trials: int, seed: int, overrides: Sequence[str]) -> list[RunCell]:
        made = [
            RunCell(method, trial, (*common, *own, *overrides), seed + trial)
            for trial in range(trials)
            for method, own in methods.items()
        ]
        check_once(made)
        return made

    return cells


def check_once(cells: Sequence[RunCell]) -> None:
    """Check the settings of all cells, so that mistakes are found before anything runs."""
    for settings in dict.fromkeys(cell.overrides for cell in cells):
        check(compose(settings))


def array_trials(
    methods: Mapping[str, tuple[str, Mapping[str, Any]]],
) -> Callable[[int, int, Sequence[str]], list[ArrayCell]]:
    """Experiments on arrays alone: a function, by its dotted path, and its arguments per label."""

    def cells(trials: int, seed: int, overrides: Sequence[str]) -> list[ArrayCell]:
        if overrides:
            raise TagmaError(f"{overrides[0]}: this experiment has no settings to override")
        return [
            ArrayCell(method, trial, function, (*arguments.items(), ("seed", seed + trial)))
            for trial in range(trials)
            for method, (function, arguments) in methods.items()
        ]

    return cells


def values(rows: Sequence[Row], method: str, column: str) -> list[float]:
    """One column of one method, over the trials."""
    return [row[column] for row in rows if row["method"] == method]
