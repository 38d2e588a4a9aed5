"""Figure (b) of the paper: estimation error of clusterings x optimisers, beside the oracle."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.reproduce.claims import Claim, number, summarise
from bench.reproduce.experiment import Experiment, Row, runs, values
from bench.reproduce.figures import figure, look

_CLUSTERINGS = {"KM": "kmeans", "KGM": "kgeomedians", "TKM": "trimmed_kmeans"}
_SAFE_STEP = 0.2
"""Below 1/lambda_max of every machine's own Hessian at n = 2 d, where lambda_max is about 2.9."""
_OPTIMISERS = {
    "SM": ("aggregation=mean",),
    "TM": ("aggregation=trimmed_mean", "aggregation.beta=0.4"),
    "FA": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local",
           "optimiser.step=1", "rounds=10"),
    "FA, safe step": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local",
                      f"optimiser.step={_SAFE_STEP}"),
}  # fmt: skip
_ORACLES = {"oracle": (), "oracle, liars excluded": ("strategy.exclude_byzantine=true",)}


def _methods() -> dict[str, tuple[str, ...]]:
    methods = {
        f"{short} + {optimiser}": (f"clustering={name}", "clustering.init=partial", *settings)
        for short, name in _CLUSTERINGS.items()
        for optimiser, settings in _OPTIMISERS.items()
    }
    for label, settings in _ORACLES.items():
        for optimiser in ("SM", "TM"):
            methods[f"{label} + {optimiser}"] = (
                "strategy=oracle", *settings, *_OPTIMISERS[optimiser],
            )  # fmt: skip
    return methods


def _measure(metrics: Mapping[str, Any]) -> Row:
    return {key: metrics[key] for key in ("estimation_error", "misclustering")}


def _claims(rows: Sequence[Row]) -> list[Claim]:
    mean = {
        method: float(np.mean(values(rows, method, "estimation_error"))) for method in _methods()
    }
    claims = []
    for robust in ("KGM", "TKM"):
        for optimiser in ("SM", "TM"):
            worse = mean[f"KM + {optimiser}"] / mean[f"{robust} + {optimiser}"] - 1
            claims.append(
                Claim(
                    f"the error with K-means is at least 53 % above {robust} ({optimiser})",
                    f"{100 * worse:.0f} % above",
                    worse >= 0.53,
                )
            )
    for robust in ("KGM", "TKM"):
        better = 1 - mean[f"{robust} + TM"] / mean[f"{robust} + SM"]
        claims.append(
            Claim(
                f"trimmed mean beats sample mean by at least 29 % ({robust})",
                f"by {100 * better:.0f} %",
                better >= 0.29,
            )
        )
    unstable, safe = mean["TKM + FA"] / mean["TKM + TM"], mean["TKM + FA, safe step"]
    claims.append(
        Claim(
            "FA is orders of magnitude worse",
            f"with step 1, {number(unstable)} times the error of TKM + TM; "
            f"with step {_SAFE_STEP}, {number(safe / mean['TKM + TM'])} times",
            unstable > 100,
        )
    )
    for method in _methods():
        summary = summarise(values(rows, method, "estimation_error"))
        claims.append(Claim(f"{method}: (bars in a figure)", str(summary), None))
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    optimisers = [*_OPTIMISERS]
    groups = [*_CLUSTERINGS, *_ORACLES]
    with figure(path, width=7) as axes:
        for index, optimiser in enumerate(optimisers):
            drawn = [g for g in groups if f"{g} + {optimiser}" in _methods()]
            summaries = [
                summarise(values(rows, f"{g} + {optimiser}", "estimation_error")) for g in drawn
            ]
            places = [groups.index(g) + 0.15 * (index - 1.5) for g in drawn]
            style = look(index) | {"linestyle": "none"}
            axes.errorbar(
                places, [s.mean for s in summaries], yerr=[s.deviation for s in summaries],
                label=optimiser, capsize=3, **style,
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xticks(range(len(groups)), [g.replace(", ", ",\n") for g in groups])
        axes.set_ylabel("estimation error")
        axes.legend()


_COMMON = (
    "task=mixture_regression", "task.machines=100", "task.dim=100", "task.clusters=5",
    "task.noise=2", "task.samples=200", "attack=poisoned_regression", "attack.fraction=0.3",
    "rounds=20", "optimiser=gradient", "optimiser.step=1", "evaluate=false", "oracle=false",
)  # fmt: skip
_OVERRIDES = _methods()
"""Label of every method and its own settings."""

EXPERIMENT = Experiment(
    name="estimation",
    about="estimation error of clusterings x optimisers (Figure b)",
    cells=runs(_COMMON, _OVERRIDES),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes=f"""\
KM, KGM, TKM: K-means, K-geomedians, trimmed K-means. SM, TM: sample mean and trimmed mean (beta
= 0.4) of gradients, step 1, 20 rounds. FA: trimmed mean of models after 5 local steps; with
step 1 it is unstable for n < 3 d, because a machine's own Hessian has eigenvalues up to (1 +
sqrt(d/n))^2 = 2.9, and diverges (10 rounds are shown); with step {_SAFE_STEP} it does what TM
does. Numbers: mean ± standard deviation over trials [95 % interval of the mean]. The oracle is
given the true clusters of honest machines; liars join the nearest true centre, or are excluded.""",
)
