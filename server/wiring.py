"""From settings to the parts of a federation; every setting is checked here, before it starts."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args, get_type_hints

import numpy as np
from flwr.serverapp.strategy import Strategy

from tagma.attacks.adversary import adversary_of
from tagma.attacks.local.none import NoAttack
from tagma.errors import SettingError
from tagma.exchange import CHOICE, Request
from tagma.plugins import TARGET, build, checked, locate
from tagma.server.partial_labels import partial_labels
from tagma.server.screening_settings import notices_of_screening, without_useless_checks
from tagma.server.unused_settings import notices_of_names, notices_of_unused
from tagma.settings import Settings
from tagma.strategies.absence import Absence
from tagma.strategies.aggregation import Aggregator
from tagma.strategies.aggregation.pre.with_spectral_filter import REMOVABLE
from tagma.strategies.algorithm_check import CheckedAlgorithm
from tagma.strategies.algorithms.algorithm import Algorithm
from tagma.strategies.algorithms.oracle import Oracle
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.algorithms.three_stage import ClusterClients
from tagma.strategies.clustering.initial_labels import InitialLabels
from tagma.strategies.clustering_choice import clustering_of
from tagma.strategies.flower_algorithm import FlowerAlgorithm, flower_strategy
from tagma.strategies.rule_choice import aggregator_of
from tagma.tasks.task import WithServerData, layout_of, true_clusters
from tagma.tasks.task_choice import task_of

_USUAL_TOLERANCE = 0.4
"""Of aggregations that tolerate up to a half, a little less."""


def algorithm_of(settings: Settings) -> Algorithm[Any]:
    """The algorithm of the settings; only the oracle and partial labels see the truth."""
    if (flowers := _flower_strategy(settings)) is not None:
        optimiser = build("optimiser", settings.choice("optimiser"))
        return FlowerAlgorithm(flowers, optimiser, layout_of(task_of(settings)))
    strategy = locate(str(settings.choice("strategy").get(TARGET, "")), f"strategy.{TARGET}")
    algorithm: Algorithm[Any] = build(
        "strategy",
        without_useless_checks(settings),
        cluster=_cluster_clients(settings) if _wants(strategy, "cluster") else None,
        aggregate=_aggregator(settings),
        optimiser=build("optimiser", settings.choice("optimiser")),
        seed=settings.seed,
        clients_choose=settings.personalise.choose,
        **_truth_for_the_oracle(settings),
    )
    return algorithm


def _aggregator(settings: Settings) -> Aggregator:
    """The rule; an error where it needs data of the server, and this run's has none."""
    task = task_of(settings)
    has_data = isinstance(task, WithServerData) and task.server_data() is not None
    without = () if has_data else ("reference",)
    return aggregator_of(settings.choice("aggregation"), layout_of(task).sizes, without)


def _wants(strategy: Callable[..., Any], name: str) -> bool:
    """Whether it has such a parameter."""
    return name in inspect.signature(strategy).parameters


def _flower_strategy(settings: Settings) -> Strategy | None:
    """A Strategy of Flower's, where the settings name one."""
    group = settings.choice("strategy")
    kind = locate(str(group.get(TARGET, "")), f"strategy.{TARGET}")
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        return None
    return flower_strategy(kind, {key: value for key, value in group.items() if key != TARGET})


def absence_of(settings: Settings) -> Absence:
    """Who is away when, by the settings."""
    absence = checked(Absence, "absence", settings.absence)
    clients = task_of(settings).clients
    if absence.clients and max(absence.clients) >= clients:
        said = f"must be below task.clients={clients}"
        raise SettingError("absence.clients", list(absence.clients), said)
    return absence


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
        *notices_of_names(settings),
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


def _with_number_of_clusters(settings: Settings) -> Mapping[str, Any]:
    """The settings of the clustering; where the data say how many clusters there are, as many."""
    chosen = settings.choice("clustering")
    if chosen.get("k", 0) is not None:
        return chosen
    method = locate(str(chosen[TARGET]), f"clustering.{TARGET}")
    if type(None) in get_args(get_type_hints(method)["k"]):  # it finds the number itself
        return chosen
    task = task_of(settings)
    if true_clusters(task) is None:
        said = "must be the number of clusters; or let preset=tagma find it"
        raise SettingError("clustering.k", None, said)
    return {**chosen, "k": task.clusters}


def _cluster_clients(settings: Settings) -> ClusterClients:
    def partly_correct(k: int, correct: float) -> InitialLabels:
        truth = task_of(settings).truth()
        if truth is None or truth.k != k:
            raise SettingError(
                "clustering.init", "partial",
                "needs a task with clustering.k clusters that are known",
            )  # fmt: skip
        byzantine = adversary_of(settings).byzantine
        return partial(
            partial_labels, truth=truth, byzantine=byzantine, correct=correct, seed=settings.seed
        )

    return clustering_of(
        _with_number_of_clusters(settings),
        seed=settings.seed,
        clients=task_of(settings).clients,
        partly_correct=partly_correct,
    )
