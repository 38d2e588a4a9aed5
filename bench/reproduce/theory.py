"""The rates of the paper's main theorem: how the error depends on n, M, alpha and d.

The theorem bounds ||w - w*|| by a multiple of alpha d / sqrt(n) + d / sqrt(n M), for the trimmed
mean in a cluster of M machines with n examples each, and by sqrt(alpha / n) + sqrt(d / (n M)) for
iterative filtering. Each sweep varies one of the four on a log scale and fits the slope. One
cluster is enough: with the clusters known, the problem falls into K such ones.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from bench.reproduce.claims import Claim, summarise
from bench.reproduce.experiment import Experiment, Row, runs
from bench.reproduce.figures import figure, look

_TRIMMED = ("aggregation=trimmed_mean", "aggregation.beta=0.4")
_SWEEPS: dict[str, tuple[tuple[float, ...], tuple[str, ...], str]] = {
    "n": (
        (100, 200, 400, 800, 1600, 3200),
        ("task.samples={x}", "task.machines=20", "task.dim=20", "attack.fraction=0.2", *_TRIMMED),
        "-1/2",
    ),
    "M": (
        (5, 10, 20, 40, 80, 160),
        ("task.machines={x}", "task.samples=200", "task.dim=20", "attack.fraction=0", *_TRIMMED),
        "-1/2",
    ),
    "alpha": (
        (0, 0.02, 0.04, 0.08, 0.16, 0.32),
        ("attack.fraction={x}", "task.machines=100", "task.samples=400", "task.dim=20", *_TRIMMED),
        "1 (what liars add to the error without them)",
    ),
    "d": (
        (5, 10, 20, 40, 80),
        ("task.dim={x}", "task.machines=20", "task.samples=1600", "attack.fraction=0.2", *_TRIMMED),
        "at most 1",
    ),
    "d, iterative filtering": (
        (5, 10, 20, 40, 80),
        ("task.dim={x}", "task.machines=20", "task.samples=1600", "attack.fraction=0.2",
         "aggregation=iterative_filtering"),
        "at most 1/2",
    ),
}  # fmt: skip
_ACCEPTED = {
    "n": (-0.6, -0.4),
    "M": (-0.6, -0.4),
    "alpha": (0.7, 1.3),
    "d": (-np.inf, 1.0),
    "d, iterative filtering": (-np.inf, 0.6),
}
"""Fitted slopes that agree with the theorem."""


def _label(sweep: str, x: float) -> str:
    return f"{sweep} = {x:g}"


def _dimension(sweep: str, x: float) -> float:
    return x if sweep.startswith("d") else 20


def _measure(metrics: Mapping[str, Any]) -> Row:
    return {"estimation_error": metrics["estimation_error"]}


def _errors(rows: Sequence[Row], sweep: str) -> tuple[np.ndarray, np.ndarray]:
    """The sweep's values and the errors ||w - w*||, shape (values, trials)."""
    xs = _SWEEPS[sweep][0]
    errors = [
        [row["estimation_error"] * sqrt(_dimension(sweep, x))
         for row in rows if row["method"] == _label(sweep, x)]
        for x in xs
    ]  # fmt: skip
    places, heights = np.array(xs), np.array(errors)
    if sweep == "alpha":
        alone = (heights[0] ** 2).mean()
        excess = np.sqrt(np.maximum((heights[1:] ** 2).mean(axis=1) - alone, 0))
        return places[1:], excess[:, None]
    return places, heights


def _slope(places: np.ndarray, heights: np.ndarray) -> float:
    means = heights.mean(axis=1)
    usable = means > 0
    if usable.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(places[usable]), np.log(means[usable]), 1)[0])


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for sweep, (_, _, theorem) in _SWEEPS.items():
        slope = _slope(*_errors(rows, sweep))
        low, high = _ACCEPTED[sweep]
        claims.append(
            Claim(
                f"slope of the error in {sweep}: {theorem}",
                f"{slope:.2f}",
                bool(low <= slope <= high),
            )
        )
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    panels = {"n": ("n",), "M": ("M",), "alpha": ("alpha",), "d": ("d", "d, iterative filtering")}
    with figure(path, columns=4, width=3.2) as axes:
        for panel, (name, sweeps) in zip(axes, panels.items(), strict=True):
            for index, sweep in enumerate(sweeps):
                places, heights = _errors(rows, sweep)
                slope = _slope(places, heights)
                summaries = [summarise(list(row)) for row in heights]
                label = f"{sweep.partition(', ')[2] or 'trimmed mean'}, slope {slope:.2f}"
                panel.errorbar(
                    places, [s.mean for s in summaries], yerr=[s.high - s.mean for s in summaries],
                    label=label, capsize=2, markersize=4, **look(index),
                )  # fmt: skip
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xlabel(name)
            panel.legend()
        axes[0].set_ylabel("||w - w*||")
        axes[2].set_ylabel("added by liars")


_COMMON = (
    "task=mixture_regression", "task.clusters=1", "task.noise=2", "attack=poisoned_regression",
    "rounds=20", "evaluate=false", "oracle=false", "clustering.restarts=1",
)  # fmt: skip
_OVERRIDES = {
    _label(sweep, x): tuple(setting.format(x=x) for setting in settings)
    for sweep, (xs, settings, _) in _SWEEPS.items()
    for x in xs
}
"""Label of every method and its own settings."""

EXPERIMENT = Experiment(
    name="theory",
    about="the rates of the main theorem: error against n, M, alpha and d",
    cells=runs(_COMMON, _OVERRIDES),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes="""\
One cluster, trimmed mean with beta = 0.4 unless said, noise 2, poisoned regression. The theorem is
an upper bound that holds whatever liars do; a slope in d below it is no contradiction. For alpha,
the error without liars is removed in quadrature before fitting.""",
)
