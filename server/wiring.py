"""From settings to the parts of a federation; every setting is checked here, before it starts."""

from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from attacks.byzantine import adversary_of
from server.partial_labels import partial_labels
from strategies.algorithm import Algorithm, ClusterMachines
from strategies.clustering import Clusterer, Clustering, random_labels
from strategies.clustering.initial import InitialLabels
from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.plugins import build, settings_of
from tagma.settings import Settings
from tasks.chosen import task_of

_INITIAL = ("init", "restarts", "correct")
"""The settings of the group `clustering` that are about initial labels."""


def algorithm_of(settings: Settings) -> Algorithm:
    """The algorithm that the settings describe; only the oracle and partial labels see the truth."""
    algorithm: Algorithm = build(
        "strategy",
        settings.choice("strategy"),
        cluster=_cluster_machines(settings),
        aggregate=build("aggregation", settings.choice("aggregation")),
        optimiser=build("optimiser", settings.choice("optimiser")),
        truth=task_of(settings).truth(),
        byzantine=adversary_of(settings).byzantine,
    )
    return algorithm


def warnings_of(settings: Settings) -> list[str]:
    """What the user should know about settings that are allowed but unwise."""
    found = list(task_of(settings).warnings())
    beta = settings.choice("aggregation").get("beta")
    fraction = settings.choice("attack").get("fraction", 0)
    if beta is not None and beta < fraction:
        found.append(
            f"aggregation.beta={beta} is below attack.fraction={fraction}: the trimmed mean cannot "
            "remove all liars"
        )
    return found


def _cluster_machines(settings: Settings) -> ClusterMachines:
    group = settings.choice("clustering")
    own = {key: value for key, value in group.items() if key not in _INITIAL}
    k = own.get("k")
    machines = task_of(settings).machines
    cluster: Clusterer = build("clustering", own)
    if isinstance(k, int) and k > machines:
        raise SettingError("clustering.k", k, f"must not exceed task.machines={machines}")
    initial = _initial_labels(settings, {key: group[key] for key in _INITIAL if key in group})

    def cluster_machines(numbers: Labels, erms: Array) -> Clustering:
        return cluster(erms, initial(numbers))

    return cluster_machines


def _initial_labels(settings: Settings, values: dict[str, Any]) -> InitialLabels:
    keywords = settings_of(_initial_settings, "clustering", values, {})
    k = settings.choice("clustering")["k"]
    if keywords["init"] != "partial":
        restarts = keywords["restarts"] if keywords["init"] == "restarts" else 1
        return partial(random_labels, k=k, restarts=restarts, seed=settings.seed)
    truth = task_of(settings).truth()
    if truth is None or len(truth.centres) != k:
        raise SettingError(
            "clustering.init", "partial", "needs a task with clustering.k clusters that are known"
        )
    byzantine = adversary_of(settings).byzantine
    return partial(
        partial_labels,
        truth=truth, byzantine=byzantine, correct=keywords["correct"], seed=settings.seed,
    )  # fmt: skip


def _initial_settings(
    *,
    init: Literal["restarts", "random", "partial"],
    restarts: Annotated[int, Ge(1)],
    correct: Annotated[float, Ge(0), Le(1)],
) -> None:
    """The settings about initial labels and their ranges."""
