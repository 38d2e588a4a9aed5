"""Curves over seeds: per round, per iteration, and against what the grid varies."""

from collections.abc import Callable, Sequence

import numpy as np

from tagma.report.bench_data import Bench, BenchAxis, BenchCell, number_in
from tagma.report.bootstrap import Interval, interval, resampled_means, worst_interval, worst_mean
from tagma.report.line_chart import Line, line_look
from tagma.report.run_data import Curve

Panels = dict[str, list[Line]]
"""The lines of every panel, by its heading."""


def step_panels(bench: Bench, curve: Callable[[BenchCell], Curve | None], *, stays: bool) -> Panels:
    """A panel per setting and attack, with the curve of every defence.

    Where the fraction of Byzantine clients is varied, this is at the largest. `stays`: a curve
    that ends earlier than others keeps its last value, as a clustering does that has converged.
    """
    panels: Panels = {}
    for setting in bench.settings_varied:
        for attack in bench.attacks:
            cells = [
                c for c in bench.cells if (bench.setting(c), bench.attack(c)) == (setting, attack)
            ]
            lines = [
                _steps(bench, index, _at_most_byzantine(bench, cells, name), curve, stays)
                for index, name in enumerate(bench.defences)
            ]
            drawn = [line for line in lines if line is not None]
            if drawn:
                panels[", ".join(filter(None, (attack, setting)))] = drawn
    return panels


def _at_most_byzantine(bench: Bench, cells: Sequence[BenchCell], defence: str) -> list[BenchCell]:
    own = [cell for cell in cells if bench.defence(cell) == defence]
    for axis in bench.role("fraction"):
        most = max((number_in(cell.values[axis.key]) or 0.0 for cell in own), default=0.0)
        own = [cell for cell in own if (number_in(cell.values[axis.key]) or 0.0) == most]
    return own


def _steps(
    bench: Bench,
    index: int,
    cells: Sequence[BenchCell],
    curve: Callable[[BenchCell], Curve | None],
    stays: bool,
) -> Line | None:
    curves = {cell.seed: values for cell in cells if (values := curve(cell))}
    if not curves:
        return None
    length = max(map(len, curves.values()))
    sample = np.full((len(bench.seeds), length), np.nan)
    for seed, values in curves.items():
        row = sample[bench.seeds.index(seed)]
        row[: len(values)] = values
        row[len(values) :] = values[-1] if stays else np.nan
    drawn = resampled_means(sample)
    known = [i for i in range(length) if not np.isnan(drawn[0, i])]
    return _line(bench, index, known, [interval(drawn[:, i]) for i in known]) if known else None


def sweep_panels(
    bench: Bench,
    axis: BenchAxis,
    harm: Callable[[BenchCell], float | None],
    sign: int = 1,
    bounds: tuple[float, float] = (0.0, np.inf),
) -> Panels:
    """A panel per setting but for this axis: the worst case over attacks at each of its values.

    Of a harm more is worse; `sign` turns it back into what is shown, `bounds` are its own.
    """
    panels: Panels = {}
    cells = [cell for cell in bench.cells if number_in(cell.values[axis.key]) is not None]
    for setting in dict.fromkeys(bench.setting(cell, axis.key) for cell in cells):
        for index, defence in enumerate(bench.defences):
            own = [
                cell
                for cell in cells
                if (bench.setting(cell, axis.key), bench.defence(cell)) == (setting, defence)
            ]
            line = _sweep(bench, index, own, axis, harm, sign, bounds)
            if line is not None:
                panels.setdefault(setting, []).append(line)
    return panels


def _sweep(
    bench: Bench,
    index: int,
    cells: Sequence[BenchCell],
    axis: BenchAxis,
    harm: Callable[[BenchCell], float | None],
    sign: int,
    bounds: tuple[float, float],
) -> Line | None:
    places = sorted({number_in(cell.values[axis.key]) or 0.0 for cell in cells})
    columns = []
    for place in places:
        here = [cell for cell in cells if (number_in(cell.values[axis.key]) or 0.0) == place]
        conditions = list(dict.fromkeys(map(bench.condition, here)))
        sample = bench.sample(here, conditions, harm)
        columns.append(worst_mean(resampled_means(sample)))
    drawn = np.stack(columns, axis=1) if columns else np.empty((0, 0))
    if not drawn.size or np.isnan(drawn[0]).all():
        return None
    ends = [worst_interval(drawn[:, i], *bounds).turned(sign) for i in range(len(places))]
    return _line(bench, index, places, ends)


def _line(bench: Bench, index: int, xs: Sequence[float], ends: Sequence[Interval]) -> Line:
    return Line(
        name=bench.defences[index],
        look=line_look(index),
        xs=tuple(float(x) for x in xs),
        values=np.array([end.value for end in ends]),
        low=np.array([end.low for end in ends]),
        high=np.array([end.high for end in ends]),
    )
