"""The figures of a bench as sheets: those that its axes and tables make sense of."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tagma.report.bench_data import Bench, BenchCell
from tagma.report.bootstrap import Interval, interval, resampled_means
from tagma.report.dot_chart import Entry, draw_dots
from tagma.report.figure_files import Key, Sheet
from tagma.report.heatmap import TileValue, draw_heatmap
from tagma.report.leaderboard import RankedDefence
from tagma.report.line_chart import Line, draw_lines, line_look, percent_axis, score_axis
from tagma.report.number_format import duration, shown
from tagma.report.seed_curves import Panels, step_panels, sweep_panels

OURS = ("leaderboard", "heatmap", "against-*", "seconds-*", "rounds", "iterations", "clients-*")
"""The names of all figures that a bench may have."""


def metric_name(bench: Bench) -> str:
    """The metric in words."""
    return bench.metric.replace("_", " ")


def curve_name(bench: Bench) -> str:
    """In words, the score whose curves there are."""
    return bench.curve.replace("_", " ")


def leaderboard_sheet(bench: Bench, standings: Sequence[RankedDefence]) -> Sheet | None:
    """The score of every defence with its interval; in grey, its mean under every attack."""
    if len(bench.defences) < 2 or not bench.known():
        return None
    name = metric_name(bench)
    panels = []
    for i, setting in enumerate(bench.settings_varied):
        entries = [
            Entry(
                one.defence,
                line_look(bench.defences.index(one.defence)),
                one.score,
                tuple(one.means.items()),
            )
            for one in standings
            if one.setting == setting
        ]
        title = f"The worst case over attacks{f', {setting}' if setting else ''}"
        panels.append(
            draw_dots(f"leaderboard-{i}", setting, title, name, entries, shown, better=bench.better)
        )
    rows = tuple(
        (one.setting, one.rank, one.defence, one.worst, one.score.value, *_ends(one.score))
        for one in standings
    )
    columns = ("setting", "rank", "defence", "worst", "mean", "low", "high")
    return Sheet(
        "leaderboard", "The worst case over attacks", tuple(panels), columns, rows, across=2
    )


def heatmap_sheet(bench: Bench, standings: Sequence[RankedDefence]) -> Sheet | None:
    """The mean of every defence under every attack; over fractions, the worst."""
    if not bench.known() or len(bench.attacks) < 2:
        return None
    title = f"{metric_name(bench).capitalize()} of every defence under every attack"
    panels, rows = [], []
    for i, setting in enumerate(bench.settings_varied):
        scores = {one.defence: one for one in standings if one.setting == setting}
        values: dict[tuple[str, str], TileValue] = {}
        for attack in bench.attacks:
            for defence in scores:
                value = _worst_value(bench, setting, attack, defence)
                if value is not None:
                    worse = bench.sign * (value.mean.value - scores[defence].score.value)
                    mine = value.mean.value == scores[defence].score.value or worse >= 0
                    values[attack, defence] = replace(value, worst=mine)
                    rows.append((setting, attack, defence, value.mean.value, *_ends(value.mean)))
        if values:
            ranked = [one for one in scores if any(d == one for _, d in values)]
            panels.append(
                draw_heatmap(
                    f"heatmap-{i}", setting, title, bench.attacks, ranked, values, bench.better
                )
            )
    columns = ("setting", "attack", "defence", "mean", "low", "high")
    return Sheet("heatmap", title, tuple(panels), columns, tuple(rows), across=2)


def _worst_value(bench: Bench, setting: str, attack: str, defence: str) -> TileValue | None:
    cells: dict[str, list[BenchCell]] = {}
    for cell in bench.cells:
        if (bench.setting(cell), bench.attack(cell), bench.defence(cell)) == (
            setting,
            attack,
            defence,
        ):
            cells.setdefault(bench.condition(cell), []).append(cell)
    found: TileValue | None = None
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
        if found is None or bench.sign * mean.value > bench.sign * found.mean.value:
            found = TileValue(mean, "; ".join(words))
    return found


def sweep_sheets(bench: Bench) -> list[Sheet]:
    """Error against the fraction and whatever else is a number; time against the latter."""
    sheets = []
    for axis in bench.role("fraction", "other"):
        if not axis.numeric:
            continue
        name = metric_name(bench)
        panels = sweep_panels(bench, axis, bench.harm, bench.sign, bench.bounds)
        title = f"{name.capitalize()} against {axis.label}, the worst case over attacks"
        labels = (axis.label, name)
        sheet = _line_sheet(
            bench, f"against-{axis.key}", title, labels, panels, axis.key, better=bench.better
        )
        sheets.append(sheet)
        if axis.role == "other":
            panels = sweep_panels(bench, axis, lambda cell: cell.times.get("seconds"))
            title = f"Seconds per run against {axis.label}, under the slowest attack"
            labels = (axis.label, "seconds")
            sheets.append(
                _line_sheet(
                    bench, f"seconds-{axis.key}", title, labels, panels, axis.key, show=duration
                )
            )
    return [sheet for sheet in sheets if sheet is not None]


def rounds_sheet(bench: Bench) -> Sheet | None:
    """A score after every round, a panel per attack; a single round has no figure."""
    panels = step_panels(bench, lambda cell: cell.score_curve, stays=False)
    if max((len(line.xs) for own in panels.values() for line in own), default=0) < 2:
        return None
    name = curve_name(bench)
    title = f"{name.capitalize()} per optimisation round"
    return _line_sheet(
        bench, "rounds", title, ("round", name), panels, "round", stepped=True,
        better=bench.curve_better,
    )  # fmt: skip


def iterations_sheet(bench: Bench) -> Sheet | None:
    """The misclustering after every iteration of the clustering, a panel per attack."""
    panels = step_panels(bench, lambda cell: cell.misclustering_curve, stays=True)
    title = "Misclustering per clustering iteration"
    labels = ("iteration", "misclustered")
    return _line_sheet(
        bench, "iterations", title, labels, panels, "iteration", stepped=True, percent=True
    )


def _line_sheet(
    bench: Bench,
    name: str,
    title: str,
    labels: tuple[str, str],
    panels: Panels,
    step: str,
    *,
    show: Callable[[float], str] = shown,
    stepped: bool = False,
    percent: bool = False,
    better: str = "low",
) -> Sheet | None:
    """Panels with one y axis; `stepped`: the x axis counts from 0, and is one as well."""
    if not panels:
        return None
    drawn = {k: [_hundredfold(one) for one in own] if percent else own for k, own in panels.items()}
    lines = [line for own in drawn.values() for line in own]
    y = percent_axis(lines) if percent else score_axis(lines, better)
    charts = [
        draw_lines(
            f"{name}-{i}",
            title,
            labels,
            own,
            y,
            _as_percent if percent else show,
            heading=heading,
            steps=max(line.xs[-1] for line in lines) if stepped else None,
            unit="%" if percent else "",
        )
        for i, (heading, own) in enumerate(drawn.items())
    ]
    rows = tuple(
        (heading, line.name, x, *map(_known, map(float, values)))
        for heading, own in panels.items()
        for line in own
        for x, *values in zip(line.xs, line.values, line.low, line.high, strict=True)
    )
    columns = ("panel", "defence", step, "mean", "low", "high")
    return Sheet(name, title, tuple(charts), columns, rows, keys(bench))


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
                entries.append(Entry(defence, line_look(index), Interval(middle, low, high)))
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


def keys(bench: Bench) -> tuple[Key, ...]:
    """What the curves' marks mean."""
    return tuple(Key(*line_look(i), name) for i, name in enumerate(bench.defences))


def _hundredfold(line: Line) -> Line:
    return replace(line, values=100 * line.values, low=100 * line.low, high=100 * line.high)


def _as_percent(value: float) -> str:
    return f"{value:.1f}%"


def _ends(one: Interval) -> tuple[Any, ...]:
    return _known(one.low), _known(one.high)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
