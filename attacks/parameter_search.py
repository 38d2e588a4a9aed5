"""The search for the parameters with which an attack does most harm, however harm is measured.

The first half of the tries is drawn evenly from the space, the other half around the best so far,
in steps that become smaller. The parameters that were given are the first try, and among equals
the earlier wins. What is found is a lower bound of what somebody could do who tries harder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np

from tagma.arrays import Array

_FIRST_STEP, _LAST_STEP = 0.25, 0.03
"""Of the second half, as shares of each range."""

Point = Mapping[str, Any]
"""A value for every parameter."""


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`."""

    low: float
    high: float
    whole: bool = False

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1."""
        if self.whole:
            return min(int(self.low + place * (self.high + 1 - self.low)), int(self.high))
        return self.low + place * (self.high - self.low)

    def place(self, value: Any) -> float:
        """Where a value is, or the nearest to it; the middle, if it is no number."""
        if not isinstance(value, int | float) or self.low == self.high:
            return 0.5
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True)
class OneOf:
    """One of some values."""

    values: tuple[Any, ...]

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1."""
        return self.values[min(int(place * len(self.values)), len(self.values) - 1)]

    def place(self, value: Any) -> float:
        """Where a value is; the middle, if it is not among them."""
        known = value in self.values
        return (self.values.index(value) + 0.5) / len(self.values) if known else 0.5


Space = Mapping[str, Between | OneOf]
"""The parameters that may be searched, and where."""


@dataclass
class Search:
    """So many tries at most: `ask` what to try, `tell` what it did."""

    space: Space
    given: Point
    tries: int
    random: np.random.Generator
    points: list[Point] = field(default_factory=list)
    """What was asked, in order."""
    harms: list[float] = field(default_factory=list)
    """What it did; infinite where something diverged."""
    _places: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Without anything to search there is nothing but the given point to try."""
        self.tries = self.tries if self.space else 1

    def ask(self, count: int = 1) -> list[Point]:
        """The next to try, at most so many; none at the end.

        Fewer where the first half ends: the second begins with what that was told.
        """
        first = len(self.points)
        last = min(first + count, self.tries if first >= self._half else self._half)
        for number in range(first, last):
            place = self._next(number)
            self._places.append(place)
            found = {
                name: one.at(x) for (name, one), x in zip(self.space.items(), place, strict=True)
            }
            self.points.append(found if number else self.given)
        return self.points[first:]

    def tell(self, harms: Sequence[float]) -> None:
        """The harm of what was asked last."""
        self.harms += [harm if isfinite(harm) else inf for harm in harms]

    @property
    def _half(self) -> int:
        return (self.tries + 1) // 2

    @property
    def best(self) -> int:
        """The number of the most harmful try."""
        return max(range(len(self.harms)), key=lambda number: (self.harms[number], -number))

    def _next(self, number: int) -> Array:
        drawn = self.random.random(len(self.space))
        if not number:
            return np.array([one.place(self.given[name]) for name, one in self.space.items()])
        if number < self._half:
            return drawn
        share = (number - self._half) / max(1, self.tries - self._half - 1)
        step = _FIRST_STEP * (_LAST_STEP / _FIRST_STEP) ** share
        aside = step * self.random.standard_normal(len(self.space))
        return np.clip(self._places[self.best] + aside, 0, 1)


def most_harmful(search: Search, harm: Callable[[Point], float]) -> Point:
    """The best of all tries, one after another."""
    while points := search.ask():
        search.tell([harm(point) for point in points])
    return search.points[search.best]
