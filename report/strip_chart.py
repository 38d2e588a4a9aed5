"""Strips: a row per group of clients with a dot for each client, and the group's mean."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tagma.report.axes import LinearAxis, Tick
from tagma.report.short_labels import LETTER

WIDTH, ROW = 480, 40
TOP, FOOT, RIGHT = 40, 52, 418
_BIN, _STEP, _STACK = 5.0, 4.5, 7
"""Dots less than this apart are stacked, so far from each other, and so many at most."""


@dataclass(frozen=True)
class StripRow:
    """A group and its clients: value, words, and whether it stands out as misplaced."""

    name: str
    style: str
    clients: tuple[tuple[float, str, bool], ...]

    @property
    def mean(self) -> float:
        """Over the clients."""
        return float(np.mean([value for value, _, _ in self.clients]))


@dataclass(frozen=True)
class StripDot:
    """A client in its place."""

    x: float
    y: float
    words: str
    hollow: bool


@dataclass(frozen=True)
class DrawnStrip:
    """A row in its place; `more` clients have no dot of their own."""

    name: str
    style: str
    y: float
    mean: float
    words: str
    dots: tuple[StripDot, ...]


@dataclass(frozen=True)
class Strips:
    """A chart of strips ready to draw."""

    id: str
    title: str
    description: str
    x_label: str
    left: float
    bottom: float
    height: float
    x_ticks: tuple[Tick, ...]
    rows: tuple[DrawnStrip, ...]

    kind, width, top, right = "strips", WIDTH, TOP, RIGHT


def draw_strips(
    name: str,
    title: str,
    x_label: str,
    rows: Sequence[StripRow],
    show: Callable[[float], str],
    better: str = "high",
) -> Strips:
    """The rows from top to bottom; `show` writes a value."""
    left = 20 + LETTER * max(len(row.name) for row in rows)
    bottom = TOP + ROW * len(rows)
    axis = _axis([value for row in rows for value, _, _ in row.clients], left, better)
    drawn = [_row(row, TOP + ROW * (i + 0.5), axis, show) for i, row in enumerate(rows)]
    return Strips(
        id=name,
        title=title,
        description=" ".join(
            f"{row.name}: mean {show(row.mean)} over {len(row.clients)} clients." for row in rows
        ),
        x_label=x_label + axis.note,
        left=left,
        bottom=bottom,
        height=bottom + FOOT,
        x_ticks=axis.ticks(5),
        rows=tuple(drawn),
    )


def _axis(values: Sequence[float], left: float, better: str) -> LinearAxis:
    """From the least to the most; far beyond what most clients have, dots are on the edge."""
    middle = float(np.median(values))
    reach = 20 * float(np.median(np.abs(np.array(values) - middle))) or math.inf
    low, high = max(min(values), middle - reach), min(max(values), middle + reach)
    if better == "high":
        low = max(low, min(-1.0, high - 1.0))
    pad = 0.06 * (high - low) or max(0.02, 0.05 * abs(high))
    return LinearAxis(low - pad, high + pad, left, RIGHT)


def _row(row: StripRow, y: float, axis: LinearAxis, show: Callable[[float], str]) -> DrawnStrip:
    stacked: Counter[int] = Counter()
    dots = []
    for value, words, hollow in sorted(row.clients):
        x = axis.place(value)
        place = stacked[round(x / _BIN)]
        stacked[round(x / _BIN)] += 1
        if place < _STACK:
            away = (place + 1) // 2 * _STEP * (1 if place % 2 else -1)
            dots.append(StripDot(x, y + away, f"{words}: {show(value)}", hollow))
    return DrawnStrip(
        row.name, row.style, y, axis.place(row.mean), show(row.mean), tuple(dots)
    )  # fmt: skip
