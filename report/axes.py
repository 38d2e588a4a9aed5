"""Axes: data to pixels, and ticks at round numbers.

A log axis works on exponents throughout, so a diverged run's 1e308 neither overflows nor loses its
ticks.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tagma.report.number_format import power, times_power

_ROUND = (1, 2, 5)


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis, in pixels."""

    at: float
    label: str


def step(span: float, ticks: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that cuts `span` into at most `ticks` parts."""
    scale = 10.0 ** math.floor(math.log10(span / ticks))
    return next((r * scale for r in _ROUND if span / (r * scale) <= ticks), 10 * scale)


@dataclass(frozen=True)
class LinearAxis:
    """Values `low`..`high` on pixels `start`..`end` (`end` below `start` for a y axis)."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value; values outside are clamped to the axis."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def exponent(self) -> int:
        """The power of ten the labels leave out, 0 unless they would be very long."""
        size = max(abs(self.low), abs(self.high))
        return 0 if 1e-2 <= size < 1e5 else math.floor(math.log10(size))

    @property
    def note(self) -> str:
        """What the axis's name says of its scale."""
        return times_power(self.exponent)

    @property
    def top(self) -> float:
        """The largest value on it."""
        return self.high

    def ticks(self, about: int, whole: bool = False) -> tuple[Tick, ...]:
        """Ticks at multiples of a round step, of at least 1 if `whole`."""
        size = step(self.high - self.low, about)
        size = max(size, 1.0) if whole else size
        decimals = max(0, self.exponent - math.floor(math.log10(size)))
        first, last = math.ceil(self.low / size - 1e-9), math.floor(self.high / size + 1e-9)
        scale = 10.0**self.exponent
        return tuple(
            Tick(self.place(i * size), _plain(i * size / scale, decimals))
            for i in range(first, last + 1)
        )


@dataclass(frozen=True)
class LogAxis:
    """Like `LinearAxis`, with powers of ten as `low` and `high`; 0 and less sit at the low end."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value; values outside are clamped to the axis."""
        exponent = math.log10(value) if value > 0 else self.low
        share = (exponent - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    note = ", log scale"

    @property
    def top(self) -> float:
        """The largest value on it."""
        return 10.0**self.high if self.high < 300 else math.inf

    def ticks(self, about: int) -> tuple[Tick, ...]:
        """Powers of ten, thinned when there are many and joined by 2s and 5s when there are few."""
        decades = self.high - self.low
        stride = max(1, round(step(decades, about)))
        mantissas = _ROUND if decades < 2.5 else (1,)
        exponents = range(math.floor(self.low), math.ceil(self.high) + 1)
        marks = [(m, e) for e in exponents if e % stride == 0 for m in mantissas]
        short = self.low >= -3 and self.high <= 4
        return tuple(
            Tick(self._at(math.log10(m) + e), _decade(m, e) if short else power(str(m), e))
            for m, e in marks
            if self.low - 1e-9 <= math.log10(m) + e <= self.high + 1e-9
        )

    def _at(self, exponent: float) -> float:
        return self.start + (exponent - self.low) / (self.high - self.low) * (self.end - self.start)


AnyAxis = LinearAxis | LogAxis


def value_axis(values: Iterable[float], start: float, end: float, better: str = "low") -> AnyAxis:
    """The axis for a score: linear from 0; for errors logarithmic if they span over a decade.

    Losses may be negative: then it is linear from the least.
    """
    finite = [value for value in values if math.isfinite(value)]
    if min(finite, default=0.0) < 0:
        least, most = max(min(finite), -1e300), min(max(*finite, 0.0), 1e300)
        pad = 0.04 * (most - least)
        return LinearAxis(least - pad, most + pad, start, end)
    positive = [value for value in finite if value > 1e-300]
    if not positive:
        return LinearAxis(0.0, 1.0, start, end)
    low, high = math.log10(min(positive)), math.log10(max(positive))
    if high - low <= 1 or better == "high":
        top = max(positive)
        return LinearAxis(0.0, 1.08 * top if top < 1e300 else top, start, end)
    return LogAxis(low - 0.04 * (high - low), high + 0.04 * (high - low), start, end)


def _plain(value: float, decimals: int) -> str:
    return ("−" if value < 0 else "") + f"{abs(value):,.{decimals}f}" if value else "0"


def _decade(mantissa: int, exponent: int) -> str:
    return f"{mantissa * 10.0**exponent:,.{max(0, -exponent)}f}"
