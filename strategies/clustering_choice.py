"""From the settings of the group `clustering` to stage II."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.plugins import build, settings_of
from tagma.strategies.algorithms.three_stage import ClusterClients
from tagma.strategies.clustering import Clusterer, Clustering, random_labels
from tagma.strategies.clustering.edge_cutting import check_pairs, edge_cutting
from tagma.strategies.clustering.initial_labels import InitialLabels
from tagma.strategies.clustering.lloyd import check_restarts
from tagma.strategies.clustering.reduced import reduced

PartlyCorrect = Callable[[int, float], InitialLabels]
"""From the number of clusters and the share of correct labels to initial labels."""
_START = ("init", "restarts", "correct", "extra_clusters")
"""The settings that say how a method begins; the others are its own."""


def clustering_of(
    config: Mapping[str, Any],
    *,
    seed: int,
    clients: int | None = None,
    partly_correct: PartlyCorrect | None = None,
) -> ClusterClients:
    """The clustering; it begins with labels that it needs to be given, where it needs some.

    `clients` is how many there will be, where that is known, and `partly_correct` gives what
    `init=partial` needs, where the truth is known.
    """
    if "reduce" in config:
        told = settings_of(_reduce_settings, "clustering", {"reduce": config["reduce"]}, {})
        rest = {key: value for key, value in config.items() if key != "reduce"}
        whole = clustering_of(rest, seed=seed, clients=clients)
        return whole if told["reduce"] is None else _of_updates(rest, seed)
    if "init" not in config:  # a method that needs no initial labels, nor the number of clusters
        alone: Callable[..., Clustering] = build("clustering", config, examples=None)
        for key in ("k", "smallest"):
            _at_most(clients, key, int(config.get(key) or 0))
        if "examples" in inspect.signature(alone).parameters:

            def by_noise(
                numbers: Labels, local_models: Array, *, examples: Labels | None = None
            ) -> Clustering:
                return alone(local_models, examples=examples)

            return by_noise
        return lambda numbers, local_models: alone(local_models)
    start = settings_of(
        _start_settings, "clustering", {key: config[key] for key in _START if key in config}, {}
    )
    own = {key: value for key, value in config.items() if key not in _START}
    build("clustering", own)
    own["k"] = int(own["k"]) + start["extra_clusters"]
    _at_most(clients, "k", own["k"])
    cluster: Clusterer = build("clustering", own)
    if clients is not None:  # else it is found out when they are there
        _check_size(cluster, clients, own["k"], start)
    initial = _initial_labels(own["k"], start, seed, partly_correct)

    def cluster_clients(numbers: Labels, local_models: Array) -> Clustering:
        return cluster(local_models, initial(numbers))

    return cluster_clients


def _of_updates(config: Mapping[str, Any], seed: int) -> ClusterClients:
    """The clustering of updates in few dimensions."""
    alone: Callable[..., Clustering] = build("clustering", config, examples=None)

    def by_updates(
        numbers: Labels, local_models: Array, *, examples: Labels, initial: Array
    ) -> Clustering:
        return reduced(alone, local_models, initial, examples, seed)

    return by_updates


def _reduce_settings(*, reduce: Literal["projection"] | None) -> None:
    """Whether updates are clustered in few dimensions instead of local models in all."""


def _at_most(clients: int | None, key: str, value: int) -> None:
    if clients is not None and value > clients:
        raise SettingError(f"clustering.{key}", value, f"must not exceed task.clients={clients}")


def _check_size(cluster: Clusterer, clients: int, k: int, start: Mapping[str, Any]) -> None:
    """Refuse what would not fit into memory before anybody has computed anything."""
    if isinstance(cluster, partial) and cluster.func is edge_cutting:
        check_pairs(clients)
    else:
        check_restarts(clients, k, start["restarts"] if start["init"] == "restarts" else 1)


def _initial_labels(
    k: int, start: dict[str, Any], seed: int, partly_correct: PartlyCorrect | None
) -> InitialLabels:
    if start["init"] != "partial":
        restarts = start["restarts"] if start["init"] == "restarts" else 1
        return partial(random_labels, k=k, restarts=restarts, seed=seed)
    if partly_correct is None:
        raise SettingError("clustering.init", "partial", "needs a task whose clusters are known")
    return partly_correct(k, start["correct"])


def _start_settings(
    *,
    init: Literal["restarts", "random", "partial"],
    restarts: Annotated[int, Ge(1)],
    correct: Annotated[float, Ge(0), Le(1)],
    extra_clusters: Annotated[int, Ge(0)],
) -> None:
    """The settings of `_START` and their ranges."""
