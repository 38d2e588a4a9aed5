"""From settings to the parts of a federation; every setting is checked here, before it starts."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from tagma.arrays import Array, Labels
from tagma.attacks.adversary import adversary_of
from tagma.attacks.local.none import NoAttack
from tagma.errors import SettingError
from tagma.exchange import CHOICE, Request
from tagma.plugins import TARGET, build, locate, settings_of
from tagma.server.partial_labels import partial_labels
from tagma.server.screening_settings import notices_of_screening, without_useless_checks
from tagma.server.unused_settings import notices_of_unused
from tagma.settings import Settings
from tagma.strategies.aggregation.pre.with_spectral_filter import REMOVABLE
from tagma.strategies.algorithm_check import CheckedAlgorithm
from tagma.strategies.algorithms.algorithm import Algorithm
from tagma.strategies.algorithms.oracle import Oracle
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.algorithms.three_stage import ClusterClients
from tagma.strategies.clustering import Clusterer, Clustering, random_labels
from tagma.strategies.clustering.initial_labels import InitialLabels
from tagma.strategies.rule_choice import aggregator_of
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

_USUAL_TOLERANCE = 0.4
"""Of aggregations that tolerate up to a half, a little less."""
_OURS = ("init", "restarts", "correct", "extra_clusters")
"""The settings of the group `clustering` that are used here; the others are the method's own."""


def algorithm_of(settings: Settings) -> Algorithm[Any]:
    """The algorithm of the settings; only the oracle and partial labels see the truth."""
    algorithm: Algorithm[Any] = build(
        "strategy",
        without_useless_checks(settings),
        cluster=_cluster_clients(settings),
        aggregate=aggregator_of(settings.choice("aggregation")),
        optimiser=build("optimiser", settings.choice("optimiser")),
        seed=settings.seed,
        **_truth_for_the_oracle(settings),
    )
    return algorithm


def works_of(settings: Settings, algorithm: Algorithm[Any]) -> tuple[str, str]:
    """What clients are asked for in the first round and, by the optimiser, later."""
    later: ServerStep = build("optimiser", settings.choice("optimiser"))
    return _first_request(settings, algorithm).work, later.work


def lets_choose(settings: Settings, algorithm: Algorithm[Any]) -> bool:
    """Whether clients get several models and say which of them they went on with."""
    return CHOICE in _first_request(settings, algorithm).expects


def _first_request(settings: Settings, algorithm: Algorithm[Any]) -> Request:
    task = task_of(settings)
    layout = layout_of(task)
    algorithm = CheckedAlgorithm(algorithm, layout)
    state = algorithm.start(layout.vector(task.initial()))
    return algorithm.ask(state, 1, np.zeros(1, dtype=np.int64))


def _truth_for_the_oracle(settings: Settings) -> dict[str, Any]:
    """The truth, for our own oracle; no other strategy is given it, whatever its parameters."""
    chosen = settings.choice("strategy").get(TARGET)
    if chosen is None or locate(str(chosen), f"strategy.{TARGET}") is not Oracle:
        return {}
    return {"truth": task_of(settings).truth(), "byzantine": adversary_of(settings).byzantine}


def tolerance_of(settings: Settings) -> float:
    """The share of Byzantine clients in a cluster that the rule tolerates, by its settings."""
    group = settings.choice("aggregation")
    for key in ("beta", "removable", "fraction"):
        if key in group:
            return min(float(group[key]), 0.5)
    if str(group[TARGET]).endswith(".mean"):
        return REMOVABLE if settings.choice("strategy").get("spectral_filter") else 0.0
    return _USUAL_TOLERANCE


def warnings_of(settings: Settings) -> list[str]:
    """What the user should know about settings that are allowed but unwise."""
    found = [
        *task_of(settings).warnings(),
        *notices_of_screening(settings),
        *notices_of_unused(settings),
    ]
    for squad in adversary_of(settings).squads:
        for phase in squad.phases:
            if phase.start > settings.rounds + 1:
                found.append(
                    f"{phase.key}.start={phase.start} is after the last round, "
                    f"{settings.rounds + 1}: this attack never happens"
                )
            elif not squad.clients.any() and not isinstance(phase.attack, NoAttack):
                found.append(f"{phase.key}: no client is Byzantine, so nobody attacks")
    beta = settings.choice("aggregation").get("beta")
    fraction = float(adversary_of(settings).byzantine.mean())
    if fraction >= 0.5:
        found.append(
            f"{fraction:.0%} of the clients are Byzantine: no defence here promises anything from "
            "one half on"
        )
    elif beta is not None and float(beta) < fraction:
        found.append(
            f"aggregation.beta={beta} is below the share {fraction:.2g} of Byzantine clients: the "
            "trimmed mean cannot remove all of them"
        )
    return found


def _cluster_clients(settings: Settings) -> ClusterClients:
    group = settings.choice("clustering")
    if "init" not in group:  # a method that needs no initial labels, nor the number of clusters
        alone: Callable[[Array], Clustering] = build("clustering", group)
        for key in ("k", "smallest"):
            _at_most_clients(settings, key, int(group.get(key) or 0))
        return lambda numbers, local_models: alone(local_models)
    ours = settings_of(
        _start_settings, "clustering", {key: group[key] for key in _OURS if key in group}, {}
    )
    own = {key: value for key, value in group.items() if key not in _OURS}
    build("clustering", own)
    own["k"] = int(own["k"]) + ours["extra_clusters"]
    _at_most_clients(settings, "k", own["k"])
    cluster: Clusterer = build("clustering", own)
    initial = _initial_labels(settings, own["k"], ours)

    def cluster_clients(numbers: Labels, local_models: Array) -> Clustering:
        return cluster(local_models, initial(numbers))

    return cluster_clients


def _at_most_clients(settings: Settings, key: str, value: int) -> None:
    clients = task_of(settings).clients
    if value > clients:
        raise SettingError(f"clustering.{key}", value, f"must not exceed task.clients={clients}")


def _initial_labels(settings: Settings, k: int, ours: dict[str, Any]) -> InitialLabels:
    if ours["init"] != "partial":
        restarts = ours["restarts"] if ours["init"] == "restarts" else 1
        return partial(random_labels, k=k, restarts=restarts, seed=settings.seed)
    truth = task_of(settings).truth()
    if truth is None or truth.k != k:
        raise SettingError(
            "clustering.init", "partial", "needs a task with clustering.k clusters that are known"
        )
    byzantine = adversary_of(settings).byzantine
    return partial(
        partial_labels,
        truth=truth, byzantine=byzantine, correct=ours["correct"], seed=settings.seed,
    )  # fmt: skip


def _start_settings(
    *,
    init: Literal["restarts", "random", "partial"],
    restarts: Annotated[int, Ge(1)],
    correct: Annotated[float, Ge(0), Le(1)],
    extra_clusters: Annotated[int, Ge(0)],
) -> None:
    """The settings of `_OURS` and their ranges."""
