"""The figures of a bench as sheets: those that its axes and tables make sense of."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tagma.report.bands_chart import (
    Band,
    BandChart,
    band_look,
    draw_bands,
    error_axis,
    percent_axis,
)
from tagma.report.bench_data import Axis, Bench, GridCell
from tagma.report.bootstrap import Interval, interval, resampled_means
from tagma.report.dot_chart import Entry, draw_dots
from tagma.report.figure_files import Key, Sheet
from tagma.report.heatmap import Value, draw_heatmap
from tagma.report.leaderboard import Standing
from tagma.report.number_format import duration, number
from tagma.report.seed_curves import Panels, step_panels, sweep_panels

OURS = ("leaderboard", "heatmap", "against-*", "seconds-*", "rounds", "iterations", "clients-*")
"""The names of all figures that a bench may have."""


def metric_name(bench: Bench) -> str:
    """The metric in words."""
    return bench.metric.replace("_", " ")


def shown(value: float) -> str:
    """An error; infinity is what a run that diverged has."""
    return "diverged" if value == np.inf else number(value)


def leaderboard_sheet(bench: Bench, standings: Sequence[Standing]) -> Sheet | None:
    """The score of every defence with its interval; in grey, its mean under every attack."""
    if len(bench.defences) < 2 or not bench.known():
        return None
    name = metric_name(bench)
    panels = []
    for i, setting in enumerate(bench.settings_varied):
        entries = [
            Entry(
                one.defence,
                band_look(bench.defences.index(one.defence)),
                one.score,
                tuple(one.means.items()),
            )
            for one in standings
            if one.setting == setting
        ]
        title = f"The worst case over attacks{f', {setting}' if setting else ''}"
        panels.append(draw_dots(f"leaderboard-{i}", setting, title, name, entries, shown))
    rows = tuple(
        (one.setting, one.rank, one.defence, one.worst, one.score.value, *_ends(one.score))
        for one in standings
    )
    columns = ("setting", "rank", "defence", "worst", "mean", "low", "high")
    return Sheet(
        "leaderboard", "The worst case over attacks", tuple(panels), columns, rows, across=2
    )


def heatmap_sheet(bench: Bench, standings: Sequence[Standing]) -> Sheet | None:
    """The mean of every defence under every attack; over fractions, the worst."""
    if not bench.known() or len(bench.attacks) < 2:
        return None
    title = f"{metric_name(bench).capitalize()} of every defence under every attack"
    panels, rows = [], []
    for i, setting in enumerate(bench.settings_varied):
        scores = {one.defence: one for one in standings if one.setting == setting}
        values: dict[tuple[str, str], Value] = {}
        for attack in bench.attacks:
            for defence in scores:
                value = _worst_value(bench, setting, attack, defence)
                if value is not None:
                    mine = value.mean.value >= scores[defence].score.value
                    values[attack, defence] = replace(value, worst=mine)
                    rows.append((setting, attack, defence, value.mean.value, *_ends(value.mean)))
        if values:
            ranked = [one for one in scores if any(d == one for _, d in values)]
            panels.append(
                draw_heatmap(f"heatmap-{i}", setting, title, bench.attacks, ranked, values)
            )
    columns = ("setting", "attack", "defence", "mean", "low", "high")
    return Sheet("heatmap", title, tuple(panels), columns, tuple(rows), across=2)


def _worst_value(bench: Bench, setting: str, attack: str, defence: str) -> Value | None:
    cells: dict[str, list[GridCell]] = {}
    for cell in bench.cells:
        if (bench.setting(cell), bench.attack(cell), bench.defence(cell)) == (
            setting,
            attack,
            defence,
        ):
            cells.setdefault(bench.condition(cell), []).append(cell)
    best: Value | None = None
    for condition, own in cells.items():
        errors = np.array([cell.numbers.get(bench.metric, np.nan) for cell in own])
        if np.isnan(errors).all():
            continue
        mean = interval(resampled_means(errors))
        words = [f"{defence}, {condition}: {shown(mean.value)}"]
        if mean.known and np.isfinite(mean.high):
            words.append(f"95 % interval {shown(mean.low)} to {shown(mean.high)}")
        diverged, lost = int(np.isinf(errors).sum()), int(np.isnan(errors).sum())
        words += [f"{diverged} of {len(own)} diverged"] if diverged else []
        words += [f"{lost} of {len(own)} without a result"] if lost else []
        if best is None or mean.value > best.mean.value:
            best = Value(mean, "; ".join(words))
    return best


def sweep_sheets(bench: Bench) -> list[Sheet]:
    """Error against the fraction and whatever else is a number; time against the latter."""
    axes = [axis for axis in bench.role("fraction", "other") if axis.numeric]
    sheets = []
    for axis in axes:
        name = metric_name(bench)
        panels = sweep_panels(bench, axis, lambda cell: cell.numbers.get(bench.metric))
        title = f"{name.capitalize()} against {axis.label}, the worst case over attacks"
        sheets.append(_sweep(bench, f"against-{axis.key}", title, axis, name, panels, shown))
        if axis.role == "other":
            panels = sweep_panels(bench, axis, lambda cell: cell.times.get("seconds"))
            title = f"Seconds per run against {axis.label}, under the slowest attack"
            sheets.append(
                _sweep(bench, f"seconds-{axis.key}", title, axis, "seconds", panels, duration)
            )
    return [sheet for sheet in sheets if sheet is not None]


def _sweep(
    bench: Bench,
    name: str,
    title: str,
    axis: Axis,
    metric: str,
    panels: Panels,
    show: Callable[[float], str],
) -> Sheet | None:
    y = error_axis([band for bands in panels.values() for band in bands])
    charts = [
        draw_bands(f"{name}-{i}", heading, title, (axis.label, metric), bands, y, show)
        for i, (heading, bands) in enumerate(panels.items())
    ]
    return _curve_sheet(bench, name, title, charts, panels, axis.key)


def rounds_sheet(bench: Bench) -> Sheet | None:
    """The error after every round, a panel per attack."""
    panels = step_panels(bench, lambda cell: cell.error_curve, stays=False)
    y = error_axis([band for bands in panels.values() for band in bands])
    title = "Estimation error per optimisation round"
    charts = [
        draw_bands(
            f"rounds-{i}",
            heading,
            title,
            ("round", "estimation error"),
            bands,
            y,
            shown,
            steps=last_step(panels),
        )
        for i, (heading, bands) in enumerate(panels.items())
    ]
    return _curve_sheet(bench, "rounds", title, charts, panels, "round")


def iterations_sheet(bench: Bench) -> Sheet | None:
    """The misclustering after every iteration of the clustering, a panel per attack."""
    panels = step_panels(bench, lambda cell: cell.misclustering_curve, stays=True)
    hundred = {heading: [_percent(band) for band in bands] for heading, bands in panels.items()}
    y = percent_axis([band for bands in hundred.values() for band in bands])
    title = "Misclustering per clustering iteration"
    labels = ("iteration", "misclustered")
    charts = [
        draw_bands(
            f"iterations-{i}",
            heading,
            title,
            labels,
            bands,
            y,
            _as_percent,
            steps=last_step(panels),
            unit="%",
        )
        for i, (heading, bands) in enumerate(hundred.items())
    ]
    return _curve_sheet(bench, "iterations", title, charts, panels, "iteration")


def seconds_sheet(bench: Bench) -> Sheet | None:
    """Seconds per run of every defence: the median, and the middle half of all runs."""
    panels, rows = [], []
    for i, setting in enumerate(bench.settings_varied):
        entries = []
        for index, defence in enumerate(bench.defences):
            seconds = [
                cell.times["seconds"]
                for cell in bench.cells
                if (bench.setting(cell), bench.defence(cell)) == (setting, defence)
                and "seconds" in cell.times
            ]
            if seconds:
                low, middle, high = map(float, np.quantile(seconds, [0.25, 0.5, 0.75]))
                entries.append(Entry(defence, band_look(index), Interval(middle, low, high)))
                rows.append((setting, defence, len(seconds), middle, low, high))
        if entries:
            title = f"Seconds per run{f', {setting}' if setting else ''}"
            panels.append(
                draw_dots(
                    f"seconds-{i}",
                    setting,
                    title,
                    "seconds per run",
                    entries,
                    duration,
                    "quartiles",
                )
            )
    columns = ("setting", "defence", "runs", "median", "lower_quartile", "upper_quartile")
    sheet = Sheet(
        "seconds-defence", "Seconds per run", tuple(panels), columns, tuple(rows), across=2
    )
    return sheet if panels else None


def _curve_sheet(
    bench: Bench, name: str, title: str, charts: Sequence[BandChart], panels: Panels, step: str
) -> Sheet | None:
    rows = tuple(
        (heading, band.name, x, *map(_known, (float(mean), float(low), float(high))))
        for heading, bands in panels.items()
        for band in bands
        for x, mean, low, high in zip(band.xs, band.mean, band.low, band.high, strict=True)
    )
    columns = ("panel", "defence", step, "mean", "low", "high")
    sheet = Sheet(name, title, tuple(charts), columns, rows, keys(bench))
    return sheet if charts else None


def last_step(panels: Panels) -> float:
    """The last step of the longest curve: panels have one x axis."""
    return max((band.xs[-1] for bands in panels.values() for band in bands), default=1.0)


def keys(bench: Bench) -> tuple[Key, ...]:
    """What the curves' marks mean."""
    return tuple(Key(*band_look(i), name) for i, name in enumerate(bench.defences))


def _percent(band: Band) -> Band:
    return replace(band, mean=100 * band.mean, low=100 * band.low, high=100 * band.high)


def _as_percent(value: float) -> str:
    return f"{value:.1f}%"


def _ends(one: Interval) -> tuple[Any, ...]:
    return _known(one.low), _known(one.high)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
