"""Algorithm 3: iterative filtering against the oracle, for growing dimension."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tagma.bench.experiments.high_dimension_trial import DIMS, KINDS
from tagma.bench.reproduce.experiment import Experiment, Row, array_trials, values
from tagma.bench.reproduce.paper_claims import Claim, Summary, bootstrap, over
from tagma.bench.reproduce.print_figures import figure, look

_ACCEPTED = {10: 1.7, 50: 1.2, 200: 1.1}
"""The filter's error over the oracle's that a sound implementation reaches."""
_PLAIN = (4.0, 7.0)
"""The plain mean's, where outliers are as far away as is meant to make it 5."""
_METHODS = ("oracle", "filter", "mean")


def _label(dim: int, kind: str) -> str:
    return f"d = {dim}, outliers: {kind}"


def _measure(label: str, result: Mapping[str, Any]) -> list[Row]:
    """One row per setting and method."""
    return [
        {"setting": label, "method": name, "error": result[name],
         "misclustering": result.get(f"{name} misclustered")}
        for name in _METHODS
    ]  # fmt: skip


def _ratio(rows: Sequence[Row], dim: int, kind: str, name: str) -> Summary:
    """Mean error over the trials, in units of the oracle's."""
    setting = _label(dim, kind)
    return bootstrap(
        over,
        values(rows, "error", setting=setting, method=name),
        values(rows, "error", setting=setting, method="oracle"),
    )


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for dim in DIMS:
        for kind in KINDS:
            ratio, plain = (_ratio(rows, dim, kind, name) for name in ("filter", "mean"))
            claims += [
                Claim(
                    f"the filter stays near the oracle: at most {_ACCEPTED[dim]} times its error "
                    f"(d = {dim}, {kind})",
                    ratio.written(" times"),
                    ratio.at_most(_ACCEPTED[dim]),
                ),
                Claim(
                    f"the plain mean does not: about 5 times ({_PLAIN[0]:g} to {_PLAIN[1]:g}) "
                    f"(d = {dim}, {kind})",
                    plain.written(" times"),
                    plain.within(*_PLAIN),
                ),
            ]
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    with figure(path) as axes:
        for index, kind in enumerate(KINDS):
            for name, dash in (("filter", "-"), ("mean", ":")):
                ratios = [_ratio(rows, dim, kind, name) for dim in DIMS]
                bars = [[r.mean - r.low for r in ratios], [r.high - r.mean for r in ratios]]
                axes.errorbar(
                    DIMS, [r.mean for r in ratios], yerr=bars, capsize=2, label=f"{name}, {kind}",
                    **look(index) | {"linestyle": dash},
                )  # fmt: skip
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(DIMS, [str(dim) for dim in DIMS])
        axes.set_yticks([1, 2, 3, 4, 5, 6], list("123456"))
        axes.minorticks_off()
        axes.set_xlabel("dimension d (bars: 95 % interval)")
        axes.set_ylabel("error / oracle's error")
        axes.legend(ncols=2, loc="center")


def _notes(overrides: Sequence[str]) -> str:
    return """\
20,000 points in 5 parts, ||theta*|| = 3 sigma, 5 % outliers, all on one side: in one place
(point), in a cloud around it, or along the way there (ray). Their distance is set so that the
plain mean is about 5 times as bad as the oracle, the mean of the last part's inliers with true
labels; that line shows that the outliers are harmful, not that the mean has a rate. The oracle's
own error grows like sqrt(d) with the dimension; what does not grow is what outliers add to it, as
the theorem on high dimension says of the filter (O(sqrt(alpha)), with constants that it does not
specify). Numbers: ratio of the mean errors ± its standard deviation [95 % interval], both over
resampled trials."""


EXPERIMENT = Experiment(
    name="high_dimension",
    about="iterative filtering in high dimension (Algorithm 3)",
    cells=array_trials({
        _label(dim, kind): (
            "tagma.bench.experiments.high_dimension_trial.high_dimension_trial",
            {"dim": dim, "outliers": kind},
        )
        for dim in DIMS
        for kind in KINDS
    }),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes=_notes,
)  # fmt: skip
