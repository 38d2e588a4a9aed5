"""A bench as the page needs it: cells of a grid of attacks, defences and other things, by seed.

The axes' roles say what is compared. Defences are ranked by the worst that any *condition* (an
attack, with a fraction of Byzantine clients where that is varied) does to them. Whatever else is
varied, such as the task, makes another *setting*: errors of different settings are not comparable.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tagma.arrays import Array
from tagma.report.run_data import Curve

JOINT = " · "
ALL = "all"


@dataclass(frozen=True)
class BenchAxis:
    """What the grid varies."""

    key: str
    label: str
    role: str
    values: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether it can be the x axis of a figure."""
        return len(self.values) > 1 and all(number_in(value) is not None for value in self.values)


@dataclass(frozen=True)
class BenchCell:
    """One run of the grid: a row of table.csv, with its times."""

    key: str
    values: dict[str, str]
    seed: str
    status: str
    reason: str
    numbers: dict[str, float]
    """The metrics that are known; infinity for an error that diverged."""
    times: dict[str, float]
    score_curve: Curve | None = None
    """Of the bench's `curve`, from the first round on; NaN where it was not measured."""
    misclustering_curve: Curve | None = None

    @property
    def done(self) -> bool:
        """Whether it has a result."""
        return self.status == "ok"


@dataclass(frozen=True)
class Bench:
    """Everything the page of one bench shows."""

    folder: Path
    name: str
    title: str
    command: str
    metric: str
    better: str
    """Which values of the metric are good: low | high."""
    curve: str
    """The score whose curves there are: the metric, or the first that has some."""
    curve_better: str
    reference: str
    """The name of the metric without Byzantine clients, in the table."""
    axes: tuple[BenchAxis, ...]
    cells: tuple[BenchCell, ...]
    total: int
    versions: dict[str, str]
    hosts: tuple[str, ...]
    settings: str | None

    def role(self, *roles: str) -> tuple[BenchAxis, ...]:
        """The axes that have one of these roles."""
        return tuple(axis for axis in self.axes if axis.role in roles)

    def defence(self, cell: BenchCell) -> str:
        """What is ranked."""
        return _join(cell, self.role("defence"))

    def attack(self, cell: BenchCell) -> str:
        """The attack alone, whatever the fraction."""
        return _join(cell, self.role("attack"))

    def condition(self, cell: BenchCell) -> str:
        """What the worst case is taken over."""
        fractions = (cell.values[axis.key] for axis in self.role("fraction"))
        return " at ".join([self.attack(cell), *filter(None, fractions)])

    def setting(self, cell: BenchCell, but: str = "") -> str:
        """What is varied beside attacks and defences, but for one axis; empty if nothing is."""
        others = [axis for axis in self.role("other") if axis.key != but]
        return ", ".join(f"{axis.label} {cell.values[axis.key]}" for axis in others)

    @cached_property
    def defences(self) -> tuple[str, ...]:
        """All defences, in the grid's order."""
        return self._in_order(self.role("defence"), self.defence)

    @cached_property
    def attacks(self) -> tuple[str, ...]:
        """All attacks, in the grid's order."""
        return self._in_order(self.role("attack"), self.attack)

    @cached_property
    def settings_varied(self) -> tuple[str, ...]:
        """All settings, in the grid's order."""
        return self._in_order(self.role("other"), self.setting)

    @cached_property
    def seeds(self) -> tuple[str, ...]:
        """All seeds that some cell has."""
        return tuple(dict.fromkeys(cell.seed for cell in self.cells))

    @cached_property
    def failed(self) -> tuple[BenchCell, ...]:
        """The cells without a result."""
        return tuple(cell for cell in self.cells if not cell.done)

    @property
    def sign(self) -> int:
        """What turns the metric into a harm, of which more is worse."""
        return 1 if self.better == "low" else -1

    def harm(self, cell: BenchCell) -> float | None:
        """The metric of a cell, turned so that more is worse."""
        value = cell.numbers.get(self.metric)
        return None if value is None else self.sign * value

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """What no harm can be below or above, going by those that are there.

        An error is not below 0; what should be high and is within 0 and 1 is a share.
        """
        harms = [harm for cell in self.cells if (harm := self.harm(cell)) is not None]
        low, high = min(harms, default=0.0), max(harms, default=0.0)
        if self.sign == 1:
            return (0.0 if low >= 0 else -math.inf), math.inf
        return (-1.0 if low >= -1 else -math.inf), (0.0 if high <= 0 else math.inf)

    def known(self) -> bool:
        """Whether any cell has the metric; some tasks have no truth to measure it by."""
        return any(self.metric in cell.numbers for cell in self.cells)

    def sample(
        self,
        cells: Sequence[BenchCell],
        conditions: Sequence[str],
        value: Callable[[BenchCell], float | None],
    ) -> Array:
        """A number over seeds and conditions; NaN where there is no cell or no number."""
        found = np.full((len(self.seeds), len(conditions)), np.nan)
        for cell in cells:
            if (known := value(cell)) is not None:
                row, column = self.seeds.index(cell.seed), conditions.index(self.condition(cell))
                found[row, column] = known
        return found

    def _in_order(
        self, axes: Sequence[BenchAxis], name: Callable[[BenchCell], str]
    ) -> tuple[str, ...]:
        """The names that occur, sorted by the places of their values on the axes."""
        places: dict[str, tuple[int, ...]] = {}
        for cell in self.cells:
            values = (cell.values[axis.key] for axis in axes)
            place = (a.values.index(v) for a, v in zip(axes, values, strict=True) if v in a.values)
            places.setdefault(name(cell), tuple(place))
        return tuple(sorted(places, key=lambda one: places[one]))


def number_in(text: str) -> float | None:
    """The finite number that a value is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _join(cell: BenchCell, axes: Sequence[BenchAxis]) -> str:
    return JOINT.join(cell.values[axis.key] for axis in axes if cell.values[axis.key]) or ALL
