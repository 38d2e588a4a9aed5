"""Curves of several defences in small panels: a mean over seeds, and a band of its interval.

Curves differ by colour, dash and mark. Values that are not finite, or far above all others, are
arrows on the top edge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagma.report.axes import LinearAxis, LogAxis, Tick, value_axis
from tagma.report.bootstrap import Array
from tagma.report.dot_chart import top_of
from tagma.report.line_chart import Spot
from tagma.report.number_format import times_power
from tagma.report.scatter import SHAPES
from tagma.report.short_labels import shorten

WIDTH, HEIGHT = 360, 272
LEFT, RIGHT, TOP, BOTTOM = 58, 348, 62, 222
MARKS, SPOTS = 5, 60
HEADING = 38
TALL = 100.0
"""The axis ends at this many times the smallest value."""


@dataclass(frozen=True)
class Band:
    """A curve over `xs`: means with the ends of their intervals, NaN where not known."""

    name: str
    index: int
    xs: tuple[float, ...]
    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class BandSeries:
    """A drawn curve; `marks` are the few that tell it from others, `spots` answer the pointer."""

    name: str
    shape: str
    style: str
    path: str
    band: str
    spots: tuple[Spot, ...]
    marks: tuple[Spot, ...]

    crowded = True


@dataclass(frozen=True)
class BandChart:
    """A panel ready to draw."""

    id: str
    title: str
    heading: str
    description: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[BandSeries, ...]

    kind = "bands"
    width, height, left, right, top, bottom = WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM

    @property
    def off(self) -> bool:
        """Whether some value is beyond the axis."""
        return any(spot.off for series in self.series for spot in series.spots)


def band_look(index: int) -> tuple[str, str]:
    """A curve's mark and CSS classes. Yellow lines are hard to see: the text's colour instead."""
    colour, turn = index % 7, index // 7
    return SHAPES[(index + turn) % 7], f"c{7 if colour == 6 else colour} dash{turn % 3} d{index}"


def error_axis(bands: Sequence[Band]) -> LinearAxis | LogAxis:
    """One axis for the errors in all panels, so that they can be compared."""
    values = [float(v) for band in bands for v in band.mean if 0 < v < math.inf]
    limit = TALL * min(values, default=1.0)
    ends = [float(v) for band in bands for v in band.high if 0 < v <= limit]
    return value_axis([*(v for v in values if v <= limit), *ends], BOTTOM, TOP)


def percent_axis(bands: Sequence[Band]) -> LinearAxis:
    """One axis for percentages in all panels."""
    values = [float(v) for band in bands for v in (*band.mean, *band.high) if v <= 100]
    return LinearAxis(0.0, min(100.0, max(1.1 * max(values, default=0.0), 10.0)), BOTTOM, TOP)


def draw_bands(
    name: str,
    heading: str,
    title: str,
    labels: tuple[str, str],
    bands: Sequence[Band],
    y: LinearAxis | LogAxis,
    show: Callable[[float], str],
    *,
    steps: float | None = None,
    unit: str = "",
) -> BandChart:
    """One panel; `labels` name its axes, `show` writes a value, `steps` is the last numbered x."""
    xs = [x for band in bands for x in band.xs]
    low, high = (min(xs), max(xs)) if steps is None else (0.0, max(1.0, steps))
    pad = 0.04 * ((high - low) or 1.0) if steps is None else 0.0
    x = LinearAxis(low - pad, high + pad, LEFT, RIGHT)
    scale = ", log scale" if isinstance(y, LogAxis) else times_power(y.exponent)
    return BandChart(
        id=name,
        title=f"{title}: {heading}" if heading else title,
        heading=shorten(heading, HEADING),
        description=" ".join(
            f"{band.name}: {show(float(band.mean[0]))} at {_at(band.xs[0])}, "
            f"{show(float(band.mean[-1]))} at {_at(band.xs[-1])}."
            for band in bands
        ),
        x_label=labels[0],
        y_label=labels[1] + scale,
        x_ticks=x.ticks(6, whole=steps is not None),
        y_ticks=tuple(replace(tick, label=tick.label + unit) for tick in y.ticks(5)),
        series=tuple(_series(band, x, y, labels[0], show) for band in bands),
    )


def _series(
    band: Band,
    x: LinearAxis,
    y: LinearAxis | LogAxis,
    label: str,
    show: Callable[[float], str],
) -> BandSeries:
    top = top_of(y)
    spots = []
    for place, mean, low, high in zip(band.xs, band.mean, band.low, band.high, strict=True):
        if np.isnan(mean):
            continue
        between = "" if np.isnan(low) else f" ({show(float(low))} to {show(float(high))})"
        words = f"{band.name}, {label} {_at(place)}: {show(float(mean))}{between}"
        off = float(mean) > top * 1.0001
        spots.append(Spot(x.place(place), TOP if off else y.place(float(mean)), words, off))
    inside = [spot for spot in spots if not spot.off]
    # Marks of different curves are at different places, or equal curves would hide each other's.
    step = max(1, math.ceil(len(inside) / MARKS))
    shape, style = band_look(band.index)
    return BandSeries(
        name=band.name,
        shape=shape,
        style=style,
        path=_path(spots),
        band=_band(band, x, y),
        spots=tuple(spots[:: max(1, math.ceil(len(spots) / SPOTS))]),
        marks=tuple(inside[band.index % step :: step]),
    )


def _path(spots: Sequence[Spot]) -> str:
    """An SVG path through the values on the axis, broken where one is not."""
    parts, pen = [], "M"
    for spot in spots:
        parts += [] if spot.off else [f"{pen}{spot.x:.1f} {spot.y:.1f}"]
        pen = "M" if spot.off else "L"
    return "".join(parts)


def _band(band: Band, x: LinearAxis, y: LinearAxis | LogAxis) -> str:
    """The outline of the band, along its upper end and back along the lower one."""
    known = [
        (x.place(place), y.place(float(low)), TOP if np.isinf(high) else y.place(float(high)))
        for place, mean, low, high in zip(band.xs, band.mean, band.low, band.high, strict=True)
        if not np.isnan(low) and mean <= top_of(y)
    ]
    if len(known) < 2:
        return ""
    there = "L".join(f"{at:.1f} {top:.1f}" for at, _, top in known)
    back = "L".join(f"{at:.1f} {bottom:.1f}" for at, bottom, _ in reversed(known))
    return f"M{there}L{back}Z"


def _at(x: float) -> str:
    return f"{x:g}"
