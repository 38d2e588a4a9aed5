"""The simulation of Werner et al. 2023: fewer examples than coefficients."""

from math import sqrt

from tagma.bench.reproduce.rival_table import ALONE, ORACLE, Condition, Rivals, algorithms

_TRIAL = "tagma.bench.experiments.federated_clustering.federated_clustering_trial"
_DIM, _ROUNDS = 10, 800
THEIRS = "federated clustering"
NEAR_TRUTH = "federated clustering, started near the truth"


def _condition(
    k: int, each: int, step: float, says: dict[str, str], share: float = 0.0
) -> Condition:
    clients = k * each
    quantile = (1 - share) / k
    attack = ("attack=poisoned_regression", "attack.scale=300", f"attack.fraction={share}")
    everybody = algorithms(k=k, beta=max(share, 0.1), quantile=quantile)
    for name, own in everybody.items():
        if name.startswith("IFCA"):
            everybody[name] = (*own, "strategy.spread=50")
    everybody["threshold"] += ("strategy.momentum=0.9", "strategy.iterations=10")
    arguments = {"quantile": quantile, "step": step}
    return Condition(
        (
            f"task.clusters={k}", f"task.clients={clients}", f"optimiser.local_steps={clients}",
            *(attack if share else ("attack=none",)),
        ),
        everybody,
        unit=sqrt(_DIM),
        says=says,
        arrays={
            THEIRS: (_TRIAL, {**arguments, "near_truth": False}),
            NEAR_TRUTH: (_TRIAL, {**arguments, "near_truth": True}),
        },
    )  # fmt: skip


TABLE = Rivals(
    name="werner",
    about="regressions of Werner et al.: fewer examples than coefficients",
    common=(
        "task=mixture_regression", f"task.dim={_DIM}", "task.samples=9", "task.noise=0",
        "task.scale=100", "task.shift=1", "optimiser=local", "optimiser.step=auto",
        f"rounds={_ROUNDS}", "evaluate=false", "oracle=false",
    ),
    conditions={
        "4 x 4": _condition(
            4, 4, 0.1,
            {NEAR_TRUTH: "2e-4", ORACLE: "3e-5", ALONE: "0.1", "IFCA": "0.01", "FedAvg": "200"},
        ),
        "4 x 16": _condition(
            4, 16, 0.1,
            {NEAR_TRUTH: "5e-5", ORACLE: "5e-5", ALONE: "0.1", "IFCA": "0.2", "FedAvg": "150"},
        ),
        "16 x 4": _condition(
            16, 4, 0.01,
            {NEAR_TRUTH: "0.02", ORACLE: "0.01", ALONE: "0.03", "IFCA": "200", "FedAvg": "200"},
        ),
        "4 x 16, 20 %": _condition(4, 16, 0.1, {}, share=0.2),
    },
    score="served_error",
    allowed=1.0,
    allowed_to_oracle=1.0,
    floor=1e-4,
    trials=10,
    notes=f"""\
Nine examples of ten coefficients on each client, which are 0 or 100, no noise, and inputs around k
in cluster k: nobody can learn alone, and together all errors can become 0. "4 x 16" is 4 clusters
of 16 clients. The error is ||w - w*||, the mean over the honest clients of the worst cluster;
theirs is the mean over all. What they say is read from a figure, and is for models that start
within 0.1 of the true coefficients, which nobody can know; theirs runs here from there and from
zero, with the step, momentum (0.9), quantile (1/K) and {_ROUNDS} rounds that they have. In a round
of theirs a client computes m gradients, one at everybody's model; all others take m local steps of
1/L instead. Errors below 0.0001, a millionth of the coefficients, count as this. With 20 %
Byzantine clients these are honest programs on data with coefficients of 0 or 300. It holds if ours
has on average at most the same error.""",
)  # fmt: skip
EXPERIMENT = TABLE.experiment()
