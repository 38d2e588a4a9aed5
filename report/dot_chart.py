"""A dot per name on a common axis, with its interval: the leaderboard, and times."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tagma.report.axes import LinearAxis, LogAxis, Tick, value_axis
from tagma.report.bootstrap import Interval
from tagma.report.line_chart import Spot
from tagma.report.number_format import times_power
from tagma.report.short_labels import LETTER, shorten

WIDTH, ROW = 520, 30
TOP, FOOT, RIGHT, LONGEST = 26, 48, 504, 22
BEYOND = 100
HOPELESS = 100.0
"""Values so many times the smallest are on the right edge: the axis is for those that compete."""


@dataclass(frozen=True)
class Entry:
    """A name with its figure, and lesser ones with their names."""

    name: str
    look: tuple[str, str]
    figure: Interval
    beside: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class DotRow:
    """An entry in its place."""

    name: str
    label: str
    y: float
    shape: str
    style: str
    spot: Spot | None
    whisker: tuple[float, float] | None
    faint: tuple[Spot, ...]
    words: str

    @property
    def cut(self) -> bool:
        """Whether the label is not the whole name."""
        return self.label != self.name


@dataclass(frozen=True)
class Dots:
    """A dot chart ready to draw."""

    id: str
    title: str
    heading: str
    description: str
    x_label: str
    left: float
    bottom: float
    height: int
    x_ticks: tuple[Tick, ...]
    rows: tuple[DotRow, ...]

    kind, width, top, right = "dots", WIDTH, TOP, RIGHT


def draw_dots(
    name: str,
    heading: str,
    title: str,
    x_label: str,
    entries: Sequence[Entry],
    show: Callable[[float], str],
    ends: str = "95 % interval",
) -> Dots:
    """The entries from top to bottom; `show` writes a value, `ends` says what an interval is."""
    labels = [shorten(entry.name, LONGEST) for entry in entries]
    left = 22 + LETTER * max(map(len, labels))
    bottom = TOP + ROW * len(entries)
    axis = _axis(entries, left)
    rows = [
        _row(entry, label, TOP + ROW * (i + 0.5), axis, show, ends)
        for i, (entry, label) in enumerate(zip(entries, labels, strict=True))
    ]
    scale = ", log scale" if isinstance(axis, LogAxis) else times_power(axis.exponent)
    return Dots(
        id=name,
        title=title,
        heading=heading,
        description=" ".join(f"{e.name}: {show(e.figure.value)}." for e in entries),
        x_label=x_label + scale,
        left=left,
        bottom=bottom,
        height=bottom + FOOT,
        x_ticks=axis.ticks(5),
        rows=tuple(rows),
    )


def _axis(entries: Sequence[Entry], left: float) -> LinearAxis | LogAxis:
    ends = [e.figure.high if e.figure.known else e.figure.value for e in entries]
    values = [value for e in entries for value in (e.figure.value, *(v for _, v in e.beside))]
    positive = [value for value in values if 0 < value < math.inf]
    limit = HOPELESS * min((e.figure.value for e in entries if e.figure.value > 0), default=1.0)
    end = RIGHT - 12 if all(e.figure.value <= limit for e in entries) else RIGHT - BEYOND
    return value_axis([v for v in (*positive, *ends) if v <= limit], left, end)


def _row(
    entry: Entry,
    label: str,
    y: float,
    axis: LinearAxis | LogAxis,
    show: Callable[[float], str],
    ends: str,
) -> DotRow:
    figure = entry.figure
    words = show(figure.value)
    between = f", {ends} {show(figure.low)} to {show(figure.high)}" if figure.known else ""
    off = figure.value > top_of(axis)
    spot, whisker = None, None
    if not math.isnan(figure.value):
        spot = Spot(
            RIGHT - 8 if off else axis.place(figure.value),
            y,
            f"{entry.name}: {words}{between}",
            off,
        )
        if figure.known and not off:
            whisker = (axis.place(figure.low), axis.place(figure.high))
    faint = tuple(
        Spot(axis.place(value), y, f"{entry.name}, {name}: {show(value)}", False)
        for name, value in entry.beside
        if value <= top_of(axis)
    )
    shape, style = entry.look
    return DotRow(entry.name, label, y, shape, style, spot, whisker, faint, words)


def top_of(axis: LinearAxis | LogAxis) -> float:
    """The largest value on an axis."""
    if isinstance(axis, LinearAxis):
        return axis.high
    return 10.0**axis.high if axis.high < 300 else math.inf
