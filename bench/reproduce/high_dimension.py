"""Algorithm 3: iterative filtering against the oracle, for growing dimension."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.experiments.high_dimension import DIMS, KINDS
from bench.reproduce.claims import Claim
from bench.reproduce.experiment import Experiment, Row, array_trials, values
from bench.reproduce.figures import figure, look

_ACCEPTED = {10: 1.7, 50: 1.2, 200: 1.1}
"""The filter's error over the oracle's that a sound implementation reaches."""


def _label(dim: int, kind: str) -> str:
    return f"d = {dim}, outliers: {kind}"


def _measure(result: Mapping[str, Any]) -> Row:
    return dict(result)


def _ratio(rows: Sequence[Row], dim: int, kind: str, name: str) -> float:
    """Mean error over the trials, in units of the oracle's."""
    label = _label(dim, kind)
    return float(np.mean(values(rows, label, name)) / np.mean(values(rows, label, "oracle")))


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for dim in DIMS:
        for kind in KINDS:
            ratio, plain = (_ratio(rows, dim, kind, name) for name in ("filter", "mean"))
            claims.append(
                Claim(
                    f"the error does not grow with the dimension (d = {dim}, {kind})",
                    f"filter {ratio:.2f}, plain mean {plain:.2f} times the oracle's error",
                    ratio <= _ACCEPTED[dim],
                )
            )
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    with figure(path) as axes:
        for index, kind in enumerate(KINDS):
            for name, dash in (("filter", "-"), ("mean", ":")):
                heights = [_ratio(rows, dim, kind, name) for dim in DIMS]
                style = look(index) | {"linestyle": dash}
                axes.plot(DIMS, heights, label=f"{name}, {kind}", **style)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("dimension d")
        axes.set_ylabel("error / oracle's error")
        axes.legend(ncols=2)


EXPERIMENT = Experiment(
    name="high_dimension",
    about="iterative filtering in high dimension (Algorithm 3)",
    cells=array_trials({
        _label(dim, kind): (
            "bench.experiments.high_dimension.high_dimension_trial",
            {"dim": dim, "outliers": kind},
        )
        for dim in DIMS
        for kind in KINDS
    }),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes="""\
20,000 points in 5 parts, ||theta*|| = 3 sigma, 5 % outliers, all on one side: in one place, in a
cloud around it, or along the way there. Their distance makes the plain mean about 5 times as bad as
the oracle, the mean of the last part's inliers with true labels.""",
)  # fmt: skip
