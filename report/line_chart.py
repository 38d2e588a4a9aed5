"""Line charts, with a band about a line where its interval is known.

A chart here is coordinates and words; `templates/figures.svg.md` draws it. Lines differ by colour,
dash and mark. Values that are not finite, or beyond the axis, are arrows on the top edge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tagma.arrays import Array
from tagma.report.axes import AnyAxis, LinearAxis, Tick, value_axis
from tagma.report.scatter import SHAPES
from tagma.report.short_labels import shorten

HEADING, SPOTS = 38, 60
LABEL_ROOM, LABEL_GAP = 88, 38
TALL = 100.0
"""The axis ends at this many times the smallest value."""


class Size(NamedTuple):
    """The picture in pixels, and the frame within it."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


LARGE, SMALL = Size(480, 300, 58, 466, 40, 252), Size(360, 272, 58, 348, 62, 222)


@dataclass(frozen=True)
class Line:
    """Values over `xs` and the ends of their intervals, NaN where not known; mark and classes."""

    name: str
    look: tuple[str, str]
    xs: tuple[float, ...]
    values: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Spot:
    """A value in its place; `off` is one beyond the axis."""

    x: float
    y: float
    words: str
    off: bool


@dataclass(frozen=True)
class Series:
    """A drawn line; `marks` are the few that tell it from others, `spots` answer the pointer."""

    name: str
    shape: str
    style: str
    path: str
    band: str
    spots: tuple[Spot, ...]
    marks: tuple[Spot, ...]
    last: str
    label_y: float


@dataclass(frozen=True)
class LineChart:
    """A chart ready to draw; `right` is where its frame ends."""

    id: str
    title: str
    heading: str
    description: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    named: bool
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    kind = "lines"

    @property
    def off(self) -> bool:
        """Whether some value is beyond the axis."""
        return any(spot.off for series in self.series for spot in series.spots)


def line_look(index: int) -> tuple[str, str]:
    """A line's mark and CSS classes. Yellow lines are hard to see: the text's colour instead."""
    colour, turn = index % 7, index // 7
    return SHAPES[(index + turn) % 7], f"c{7 if colour == 6 else colour} dash{turn % 3} d{index}"


def score_axis(lines: Sequence[Line], better: str = "low", size: Size = SMALL) -> AnyAxis:
    """One axis for the values in all panels, so that they can be compared.

    Errors that are 100 times the smallest are beyond it.
    """
    if better == "high":
        every = [float(v) for line in lines for v in (*line.values, *line.high)]
        return value_axis(every, size.bottom, size.top, better)
    values = [float(v) for line in lines for v in line.values if 0 < v < math.inf]
    limit = TALL * min(values, default=1.0)
    ends = [float(v) for line in lines for v in line.high if 0 < v <= limit]
    return value_axis([*(v for v in values if v <= limit), *ends], size.bottom, size.top)


def percent_axis(lines: Sequence[Line], size: Size = SMALL) -> LinearAxis:
    """One axis for percentages in all panels."""
    values = [float(v) for line in lines for v in (*line.values, *line.high) if v <= 100]
    most = min(100.0, max(1.1 * max(values, default=0.0), 10.0))
    return LinearAxis(0.0, most, size.bottom, size.top)


def draw_lines(
    name: str,
    title: str,
    labels: tuple[str, str],
    lines: Sequence[Line],
    y: AnyAxis,
    show: Callable[[float], str],
    *,
    heading: str = "",
    steps: float | None = None,
    unit: str = "",
    size: Size = SMALL,
    marks: int = 5,
    named: bool = False,
) -> LineChart:
    """One chart; `labels` name its axes, `show` writes a value, `steps` is the last numbered x.

    `marks` is how many marks a line has at most; `named` lines have their names at their ends.
    """
    size = size._replace(right=size.right - LABEL_ROOM) if named else size
    xs = [x for line in lines for x in line.xs]
    low, high = (min(xs), max(xs)) if steps is None else (0.0, max(1.0, steps))
    pad = 0.04 * ((high - low) or 1.0) if steps is None else 0.0
    x = LinearAxis(low - pad, high + pad, size.left, size.right)
    series = [_series(i, line, x, y, labels[0], show, marks) for i, line in enumerate(lines)]
    return LineChart(
        id=name,
        title=f"{title}: {heading}" if heading else title,
        heading=shorten(heading, HEADING),
        description=" ".join(
            f"{line.name}: {show(float(line.values[0]))} at {line.xs[0]:g}, "
            f"{show(float(line.values[-1]))} at {line.xs[-1]:g}."
            for line in lines
        ),
        x_label=labels[0],
        y_label=labels[1] + y.note,
        x_ticks=x.ticks(7, whole=steps is not None),
        y_ticks=tuple(replace(tick, label=tick.label + unit) for tick in y.ticks(5)),
        series=_apart(series, size) if named else tuple(series),
        named=named,
        **size._asdict(),
    )


def _series(
    index: int,
    line: Line,
    x: LinearAxis,
    y: AnyAxis,
    label: str,
    show: Callable[[float], str],
    marks: int,
) -> Series:
    spots = []
    for place, value, low, high in zip(line.xs, line.values, line.low, line.high, strict=True):
        if np.isnan(value):
            continue
        between = "" if np.isnan(low) else f" ({show(float(low))} to {show(float(high))})"
        words = f"{line.name}, {label} {place:g}: {show(float(value))}{between}"
        off = bool(np.isinf(value) or value > y.top * 1.0001)
        spots.append(Spot(x.place(place), y.end if off else y.place(float(value)), words, off))
    inside = [spot for spot in spots if not spot.off]
    # Marks of different lines are at different places, or equal lines would hide each other's.
    step = max(1, math.ceil(len(inside) / marks))
    shape, style = line.look
    return Series(
        name=line.name,
        shape=shape,
        style=style,
        path=_path(spots),
        band=_band(line, x, y),
        spots=tuple(spots[:: max(1, math.ceil(len(spots) / SPOTS))]),
        marks=tuple(inside[index % step :: step]),
        last=show(float(line.values[-1])),
        label_y=spots[-1].y if spots else y.end,
    )


def _path(spots: Sequence[Spot]) -> str:
    """An SVG path through the values on the axis, broken where one is not."""
    parts, pen = [], "M"
    for spot in spots:
        parts += [] if spot.off else [f"{pen}{spot.x:.1f} {spot.y:.1f}"]
        pen = "M" if spot.off else "L"
    return "".join(parts)


def _band(line: Line, x: LinearAxis, y: AnyAxis) -> str:
    """The outline of the band, along its upper end and back along the lower one."""
    known = [
        (x.place(place), y.place(float(low)), y.end if np.isinf(high) else y.place(float(high)))
        for place, value, low, high in zip(line.xs, line.values, line.low, line.high, strict=True)
        if not np.isnan(low) and value <= y.top
    ]
    if len(known) < 2:
        return ""
    there = "L".join(f"{at:.1f} {top:.1f}" for at, _, top in known)
    back = "L".join(f"{at:.1f} {bottom:.1f}" for at, bottom, _ in reversed(known))
    return f"M{there}L{back}Z"


def _apart(series: Sequence[Series], size: Size) -> tuple[Series, ...]:
    """The one or two names at the ends, moved just enough to be apart and within the frame."""
    ends = [one.label_y for one in series]
    high, low = min(ends), max(ends)
    short = max(0.0, LABEL_GAP - (low - high)) / 2 if len(series) > 1 else 0.0
    high, low = high - short, low + short
    shift = max(0.0, size.top - high) - max(0.0, low - (size.bottom - LABEL_GAP / 2))
    upper = ends.index(min(ends))
    return tuple(
        replace(one, label_y=(high if i == upper else low) + shift) for i, one in enumerate(series)
    )
