"""What an experiment of the paper consists of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any

from tagma.bench.cells import ArrayCell, Cell
from tagma.bench.federation_cell import FederationCell
from tagma.bench.reproduce.paper_claims import Claim
from tagma.errors import TagmaError
from tagma.override import key_of

Row = dict[str, Any]
"""One trial of one method: the columns of the CSV file."""


@dataclass(frozen=True)
class Experiment:
    """Methods that are compared over trials with different seeds."""

    name: str
    about: str
    cells: Callable[[int, int, Sequence[str]], Sequence[Cell]]
    """All work, from the number of trials, the first seed and the user's overrides."""
    measure: Callable[[str, Mapping[str, Any]], list[Row]]
    """From a cell's label and metrics to rows with `method` and what else is kept."""
    claims: Callable[[Sequence[Row]], list[Claim]]
    """What the paper says, and what the rows say."""
    draw: Callable[[Sequence[Row], Path], None]
    """Write the figure as PATH.svg and PATH.png."""
    notes: Callable[[Sequence[str]], str]
    """What a reader of the table should know, under the user's overrides."""
    heading: str = "the paper says"
    """Over the first column of the table."""
    trials: int = 20
    """How many, unless the user says."""
    full: "Experiment | None" = None
    """The same at the size of its authors, for hours of computing."""


def runs(
    common: Sequence[str],
    methods: Mapping[str, Sequence[str]],
    kind: type[FederationCell] = FederationCell,
) -> Callable[[int, int, Sequence[str]], list[FederationCell]]:
    """Whole federations: every method, with its own overrides, in every trial.

    Trial t has the seed `seed + t`. What a method sets, the user cannot: its label would lie.
    """
    fixed = {key_of(setting) for own in methods.values() for setting in own}

    def cells(trials: int, seed: int, overrides: Sequence[str]) -> list[FederationCell]:
        for override in overrides:
            if key_of(override) == "seed":
                raise TagmaError(f"{override}: use --seed; trial t has the seed --seed + t")
            if key_of(override) in fixed:
                raise TagmaError(f"{override}: the methods that are compared set this themselves")
        made = [
            kind.trials(method, (*common, *own, *overrides), seed, trials)
            for method, own in methods.items()
        ]
        return list(chain(*zip(*made, strict=True)))

    return cells


def array_trials(
    settings: Mapping[str, tuple[str, Mapping[str, Any]]],
) -> Callable[[int, int, Sequence[str]], list[ArrayCell]]:
    """Experiments on arrays alone: a function, by its dotted path, and its arguments per label."""

    def cells(trials: int, seed: int, overrides: Sequence[str]) -> list[ArrayCell]:
        if overrides:
            raise TagmaError(f"{overrides[0]}: this experiment has no settings to override")
        return [
            ArrayCell(label, trial, function, (*arguments.items(), ("seed", seed + trial)))
            for trial in range(trials)
            for label, (function, arguments) in settings.items()
        ]

    return cells


def values(rows: Sequence[Row], column: str, **where: Any) -> list[float]:
    """One column of the rows that are as `where` says; infinity where a run diverged."""
    chosen = [row[column] for row in rows if all(row[k] == v for k, v in where.items())]
    return [inf if value is None else value for value in chosen]
