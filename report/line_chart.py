"""Line charts: misclustering per iteration, and the estimation error per round beside the oracle's.

A chart here is coordinates and words; `templates/figures.svg.j2` draws it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tagma.report.axes import LinearAxis, LogAxis, Tick, value_axis
from tagma.report.number_format import number, percent, times_power
from tagma.report.run_data import Curve, Run

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 466, 40, 252
LABEL_ROOM, LABEL_GAP = 88, 38
CROWDED = 50


@dataclass(frozen=True)
class Spot:
    """One value of a series; `off` marks one that is not finite, drawn on the top edge."""

    x: float
    y: float
    words: str
    off: bool


@dataclass(frozen=True)
class Series:
    """A drawn curve and the label at its end."""

    kind: str
    name: str
    path: str
    spots: tuple[Spot, ...]
    last: str
    label_y: float
    crowded: bool


@dataclass(frozen=True)
class Chart:
    """A line chart ready to draw; `right` is where its frame ends."""

    id: str
    title: str
    description: str
    x_label: str
    y_label: str
    right: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]

    kind = "chart"
    width, height, left, top, bottom = WIDTH, HEIGHT, LEFT, TOP, BOTTOM

    @property
    def off(self) -> bool:
        """Whether some value is not finite."""
        return any(spot.off for series in self.series for spot in series.spots)


def misclustering_chart(run: Run) -> Chart | None:
    """Figure 1, or `None` where the truth is not known."""
    curve = run.misclustering_curve
    if curve is None or not any(map(math.isfinite, curve)):
        return None
    top = max(value for value in curve if math.isfinite(value))
    x = _steps(len(curve), RIGHT)
    y = LinearAxis(0.0, 100 * min(1.0, max(1.1 * top, 0.1)), BOTTOM, TOP)
    shares = tuple(100 * value for value in curve)
    series = _series("run", "this run", shares, x, y, "after iteration {}", "%")
    return Chart(
        id="misclustering",
        title="Misclustering per clustering iteration",
        description=(
            f"Honest clients in the wrong cluster: {percent(curve[0])} with the initial labels, "
            f"{percent(curve[-1])} after iteration {len(curve) - 1}."
        ),
        x_label="clustering iteration",
        y_label="honest clients in the wrong cluster",
        right=RIGHT,
        x_ticks=x.ticks(8, whole=True),
        y_ticks=tuple(replace(tick, label=f"{tick.label}%") for tick in y.ticks(5)),
        series=(series,),
    )


def error_chart(run: Run) -> Chart | None:
    """Figure 2, or `None` where no error is known or none is finite."""
    curves = [
        (kind, name, curve)
        for kind, name, curve in (
            ("oracle", "oracle", run.oracle_curve),
            ("run", "this run", run.error_curve),
        )
        if curve is not None
    ]
    values = [value for *_, curve in curves for value in curve]
    if not any(map(math.isfinite, values)):
        return None
    right = RIGHT - LABEL_ROOM
    x = _steps(max(len(curve) for *_, curve in curves), right)
    y = value_axis(values, BOTTOM, TOP)
    series = [_series(kind, name, curve, x, y, "after round {}") for kind, name, curve in curves]
    log = isinstance(y, LogAxis)
    return Chart(
        id="error",
        title="Estimation error per optimisation round",
        description=" ".join(
            f"{name}: {number(curve[0])} at the warm start, {number(curve[-1])} at the end."
            for _, name, curve in curves
        ),
        x_label="optimisation round",
        y_label=f"estimation error{', log scale' if log else times_power(y.exponent)}",
        right=right,
        x_ticks=x.ticks(7, whole=True),
        y_ticks=y.ticks(6),
        series=_apart(series),
    )


def _steps(length: int, right: float) -> LinearAxis:
    return LinearAxis(0.0, max(1.0, length - 1.0), LEFT, right)


def _series(
    kind: str,
    name: str,
    curve: Curve,
    x: LinearAxis,
    y: LinearAxis | LogAxis,
    when: str,
    unit: str = "",
) -> Series:
    spots = tuple(
        Spot(
            x=x.place(i),
            y=y.place(value) if math.isfinite(value) else TOP,
            words=f"{name}, {when.format(i) if i else 'at the start'}: {number(value)}{unit}",
            off=not math.isfinite(value),
        )
        for i, value in enumerate(curve)
    )
    crowded = len(curve) > CROWDED
    last = "diverged" if spots[-1].off else number(curve[-1])
    return Series(kind, name, _path(spots), spots, last, spots[-1].y, crowded)


def _path(spots: Sequence[Spot]) -> str:
    """An SVG path through the finite values, broken where one is not."""
    parts, pen = [], "M"
    for spot in spots:
        if spot.off:
            pen = "M"
            continue
        parts.append(f"{pen}{spot.x:.1f} {spot.y:.1f}")
        pen = "L"
    return "".join(parts)


def _apart(series: Sequence[Series]) -> tuple[Series, ...]:
    """The one or two end labels, moved just enough to part them and keep them in the frame."""
    order = sorted(series, key=lambda one: one.label_y)
    upper, lower = order[0], order[-1]
    short = max(0.0, LABEL_GAP - (lower.label_y - upper.label_y)) / 2 if len(series) > 1 else 0.0
    high, low = upper.label_y - short, lower.label_y + short
    shift = max(0.0, TOP - high) - max(0.0, low - (BOTTOM - LABEL_GAP / 2))
    ends = {upper.kind: high + shift} | {lower.kind: low + shift}
    return tuple(replace(one, label_y=ends[one.kind]) for one in series)
