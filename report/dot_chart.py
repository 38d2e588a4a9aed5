"""A dot per name on a common axis, with its interval: the leaderboard, and times."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tagma.report.axes import AnyAxis, Tick, value_axis
from tagma.report.bootstrap import Interval
from tagma.report.line_chart import Spot
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
    better: str = "low",
) -> Dots:
    """The entries from top to bottom; `show` writes a value, `ends` says what an interval is."""
    labels = [shorten(entry.name, LONGEST) for entry in entries]
    left = 22 + LETTER * max(map(len, labels))
    bottom = TOP + ROW * len(entries)
    axis = _axis(entries, left, better)
    rows = [
        _row(entry, label, TOP + ROW * (i + 0.5), axis, show, ends)
        for i, (entry, label) in enumerate(zip(entries, labels, strict=True))
    ]
    return Dots(
        id=name,
        title=title,
        heading=heading,
        description=" ".join(f"{e.name}: {show(e.figure.value)}." for e in entries),
        x_label=x_label + axis.note,
        left=left,
        bottom=bottom,
        height=bottom + FOOT,
        x_ticks=axis.ticks(5),
        rows=tuple(rows),
    )


def _axis(entries: Sequence[Entry], left: float, better: str) -> AnyAxis:
    values = [value for e in entries for value in (e.figure.value, *(v for _, v in e.beside))]
    ends = [e.figure for e in entries if e.figure.known]
    values += [*(one.high for one in ends), *(one.low for one in ends if one.low < 0)]
    least = min((e.figure.value for e in entries if e.figure.value > 0), default=1.0)
    every = better == "high" or any(value < 0 for value in values)
    limit = math.inf if every else HOPELESS * least
    end = RIGHT - 12 if all(e.figure.value <= limit for e in entries) else RIGHT - BEYOND
    return value_axis([v for v in values if v <= limit], left, end, better)


def _row(
    entry: Entry,
    label: str,
    y: float,
    axis: AnyAxis,
    show: Callable[[float], str],
    ends: str,
) -> DotRow:
    figure = entry.figure
    words = show(figure.value)
    between = f", {ends} {show(figure.low)} to {show(figure.high)}" if figure.known else ""
    off = figure.value > axis.top
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
        if value <= axis.top
    )
    shape, style = entry.look
    return DotRow(entry.name, label, y, shape, style, spot, whisker, faint, words)
