"""BRIFCA's own simulation (Tao, Yang, Kulkarni 2023): IFCA with a trimmed mean, on regressions."""

from math import sqrt

from tagma.bench.reproduce.rival_table import OURS, Condition, Overrides, Rivals, algorithms

_DIMENSIONS = (5, 20, 50, 100, 200, 500)
_STEP = "optimiser.step=0.02"
"""They step by 0.01 for the squared loss; ours is half of it."""


def _condition(dim: int, share: float, beta: float, said: str | None = None) -> Condition:
    trimmed = ("aggregation=trimmed_mean", f"aggregation.beta={beta}")
    everybody: dict[str, Overrides] = {
        **algorithms(k=5, beta=beta, quantile=(1 - share) / 5),
        "true clusters, trimmed mean": ("strategy=oracle", *trimmed),
    }
    for name, own in everybody.items():
        start = (f"strategy.spread={1 / sqrt(dim):.4f}",) if name.startswith("IFCA") else ()
        everybody[name] = own if name == OURS else (*own, *start, _STEP)
    return Condition(
        (
            f"task.dim={dim}", "attack=poisoned_regression", f"attack.fraction={share}",
            f"attack.scale={3 * sqrt(2 / dim):.4f}",
        ),
        everybody,
        unit=sqrt(dim),
        says={"IFCA, trimmed mean": said} if said else {},
    )  # fmt: skip


TABLE = Rivals(
    name="brifca",
    about="regressions of BRIFCA: IFCA with a trimmed mean",
    common=(
        "task=mixture_regression", "task.clients=200", "task.clusters=5", "task.samples=100",
        "task.norm=1", "task.noise=0.4472", "usual.ridge=auto", "rounds=299",
        "evaluate=false", "oracle=false",
    ),
    conditions={
        **{
            f"d = {dim}, 5 %": _condition(
                dim, 0.05, 0.05, "0.046 (their program)" if dim == 20 else None
            )
            for dim in _DIMENSIONS
        },
        "d = 100, 20 %": _condition(100, 0.2, 0.25),
    },
    score="served_error",
    allowed=1.05,
    allowed_to_oracle=1.1,
    notes="""\
Five clusters, 200 clients of 100 examples, coefficients of length 1, noise of variance 0.2, 299
rounds; the Byzantine clients, 5 or 20 %, are honest programs on data with coefficients of length
about 3. The error is ||w - w*|| of the model that a client is served, the mean over the honest
clients of the worst cluster; theirs is the mean over the five models, each with the nearest truth.
BRIFCA is IFCA with the trimmed mean; here its models start at random, as long as the coefficients.
Rivals are told K, the step (0.01 for the squared loss, 0.02 for half of it), how much to trim (5
and 25 %) and how many clients are alike; where local models count, all have the ridge of ours. It
holds if ours has on average at most 1.05 times the error, 1.1 times that of the oracle.""",
)  # fmt: skip
EXPERIMENT = TABLE.experiment()
