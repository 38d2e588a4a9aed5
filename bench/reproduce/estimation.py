"""Figure (b) of the paper: estimation error of clusterings x optimisers, beside the oracle."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from tagma.bench.reproduce.experiment import Experiment, Row, runs, values
from tagma.bench.reproduce.paper_claims import (
    Claim,
    Summary,
    bootstrap,
    median_over,
    over,
    quartiles,
    summarise,
)
from tagma.bench.reproduce.print_figures import draw_quartiles, figure
from tagma.settings import compose

CLUSTERINGS = {"KM": "kmeans", "KGM": "kgeomedians", "TKM": "trimmed_kmeans"}
WORDS = {"KM": "K-means\n(KM)", "KGM": "K-geomedians\n(KGM)", "TKM": "trimmed K-means\n(TKM)"}
_SAFE_STEP = 0.2
"""Below 1/lambda_max of every client's own Hessian at n = 2 d, where lambda_max is about 2.9."""
_OPTIMISERS = {
    "SM": ("aggregation=mean",),
    "TM": ("aggregation=trimmed_mean", "aggregation.beta=0.4"),
    "FA": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local",
           "optimiser.step=1", "rounds=10"),
    "FA, safe step": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local",
                      f"optimiser.step={_SAFE_STEP}"),
}  # fmt: skip
_LEGEND = {
    "SM": "sample mean of gradients (SM)",
    "TM": "trimmed mean of gradients (TM)",
    "FA": "federated averaging, step 1 (FA)",
    "FA, safe step": f"federated averaging, step {_SAFE_STEP}",
}
_ORACLES = {
    "oracle": (),
    "oracle, Byzantine clients excluded": ("strategy.exclude_byzantine=true",),
}


def _methods() -> dict[str, tuple[str, ...]]:
    methods = {
        f"{short} + {optimiser}": (f"clustering={name}", "clustering.init=partial", *settings)
        for short, name in CLUSTERINGS.items()
        for optimiser, settings in _OPTIMISERS.items()
    }
    for label, settings in _ORACLES.items():
        for optimiser in ("SM", "TM"):
            methods[f"{label} + {optimiser}"] = (
                "strategy=oracle", *settings, *_OPTIMISERS[optimiser],
            )  # fmt: skip
    return methods


_OVERRIDES = _methods()
"""Label of every method and its own settings."""


def _measure(label: str, metrics: Mapping[str, Any]) -> list[Row]:
    return [{"method": label} | {k: metrics[k] for k in ("estimation_error", "misclustering")}]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    errors = {method: values(rows, "estimation_error", method=method) for method in _OVERRIDES}
    claims = []
    for robust in ("KGM", "TKM"):
        for optimiser in ("SM", "TM"):
            worse = _percent(errors[f"KM + {optimiser}"], errors[f"{robust} + {optimiser}"])
            claims.append(
                Claim(
                    f"the error with K-means is at least 53 % above {robust} ({optimiser})",
                    worse.written(" % above"),
                    worse.at_least(53),
                )
            )
    for robust in ("KGM", "TKM"):
        better = _percent(errors[f"{robust} + TM"], errors[f"{robust} + SM"], sign=-1)
        claims.append(
            Claim(
                f"trimmed mean beats sample mean by at least 29 % ({robust})",
                "by " + better.written(" %"),
                better.at_least(29),
            )
        )
    for short in CLUSTERINGS:
        unstable = bootstrap(median_over, errors[f"{short} + FA"], errors[f"{short} + TM"])
        safe = bootstrap(over, errors[f"{short} + FA, safe step"], errors[f"{short} + TM"])
        claims += [
            Claim(
                f"FA is orders of magnitude worse than TM ({short}, step 1, ratio of medians)",
                unstable.written(" times"),
                unstable.at_least(100),
            ),
            Claim(
                f"(not said: with step {_SAFE_STEP}, FA is about as good as TM, {short})",
                safe.written(" times"),
                safe.within(0.8, 1.2),
            ),
        ]
    for method in _OVERRIDES:
        tails = method.endswith("+ FA")
        text = quartiles(errors[method]) if tails else str(summarise(errors[method]))
        claims.append(Claim(f"{method}: (bars in a figure)", text, "-"))
    return claims


def _percent(first: Sequence[float], second: Sequence[float], sign: int = 1) -> Summary:
    """By how many per cent the first mean is above the second; below it for sign -1."""
    return bootstrap(lambda a, b: 100 * sign * (over(a, b) - 1), first, second)


def _draw(rows: Sequence[Row], path: Path) -> None:
    groups = [*CLUSTERINGS, *_ORACLES]
    with figure(path, width=7.5) as axes:
        for index, optimiser in enumerate(_OPTIMISERS):
            samples = {
                groups.index(group) + 0.15 * (index - 1.5): values(
                    rows, "estimation_error", method=f"{group} + {optimiser}"
                )
                for group in groups
                if f"{group} + {optimiser}" in _OVERRIDES
            }
            draw_quartiles(axes, samples, _LEGEND[optimiser], index)
        axes.set_yscale("log")
        axes.set_xticks(range(len(groups)), [WORDS.get(g, fill(g, 18)) for g in groups])
        axes.set_ylabel("estimation error")
        axes.set_title("median over trials; bars: quartiles", fontsize=9)
        axes.legend(fontsize=8)


_COMMON = (
    "task=mixture_regression", "task.clients=100", "task.dim=100", "task.clusters=5",
    "task.noise=2", "task.samples=200", "attack=poisoned_regression", "attack.fraction=0.3",
    "rounds=20", "optimiser=gradient", "optimiser.step=1", "evaluate=false", "oracle=false",
)  # fmt: skip


def _notes(overrides: Sequence[str]) -> str:
    settings = compose((*_COMMON, *overrides))
    task = settings.choice("task")
    n, d = task["samples"], task["dim"]
    curvature = (1 + (d / n) ** 0.5) ** 2
    return f"""\
KM, KGM, TKM: K-means, K-geomedians, trimmed K-means. SM, TM: sample mean and trimmed mean (beta =
0.4) of gradients, step {settings.choice("optimiser")["step"]:g}, {settings.rounds} rounds. FA:
trimmed mean of models after 5 local steps; with step 1 it is unstable for n < 3 d, because a
client's own Hessian has eigenvalues up to (1 + sqrt(d/n))^2 = {curvature:.1f} (n = {n}, d = {d}),
and diverges (10 rounds are shown, as median and quartiles: a mean over runs that diverge means
nothing); with step {_SAFE_STEP} it does what TM does. Numbers: mean ± standard deviation over
trials [95 % interval of the mean]; per cents and ratios ± their standard deviation [95 % interval],
both over resampled trials; a claim is decided by the whole interval. The oracle is given the true
clusters of honest clients; Byzantine clients join the nearest true centre, or are excluded."""


EXPERIMENT = Experiment(
    name="estimation",
    about="estimation error of clusterings x optimisers (Figure b)",
    cells=runs(_COMMON, _OVERRIDES),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes=_notes,
)
