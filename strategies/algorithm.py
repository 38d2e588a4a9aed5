"""The three-stage algorithm as a state machine on arrays, without Flower.

    begin(machines, erms)             -> state    stage II: clusters and K warm-started models
    advance(state, machines, updates) -> state    stage III: one aggregation in every cluster

The state is everything the server knows between two rounds. `strategies.three_stage` connects the
machine to Flower; tests and experiments can drive it directly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from strategies.aggregation import Aggregator
from strategies.clustering import Clustering
from strategies.optimisation import Optimiser
from tagma.arrays import Array, Labels

ClusterMachines = Callable[[Labels, Array], Clustering]
"""From machine numbers (m,) and their local models (m, d) to clusters."""


@dataclass(frozen=True)
class State:
    """What the server knows after stage II and after every round of stage III."""

    machines: Labels
    """The machines that take part, in ascending order, shape (m,)."""
    clustering: Clustering
    """Its rows belong to `machines`."""
    models: Array
    """One model per cluster, shape (K, d)."""

    def cluster_of(self, machine: int) -> int | None:
        """The cluster of a machine, or None if it does not take part."""
        row = np.searchsorted(self.machines, machine)
        if row == len(self.machines) or self.machines[row] != machine:
            return None
        return int(self.clustering.labels[row])


class Algorithm(Protocol):
    """The server's side of a federation with one model per cluster."""

    stage: str
    """What machines are asked for after the first round."""

    def begin(self, machines: Labels, erms: Array) -> State:
        """The state after round 1, from every machine's local model; machines ascend."""

    def advance(self, state: State, machines: Labels, updates: Array) -> State:
        """The state after one more round; machines that sent nothing usable are left out."""


class ThreeStageAlgorithm:
    """Algorithm 1 of the paper."""

    def __init__(
        self, *, cluster: ClusterMachines, aggregate: Aggregator, optimiser: Optimiser
    ) -> None:
        self._cluster = cluster
        self._aggregate = aggregate
        self._optimiser = optimiser
        self.stage = optimiser.stage

    def begin(self, machines: Labels, erms: Array) -> State:
        """Stage II; the models start at the cluster centres."""
        clustering = self._cluster(machines, erms)
        return State(machines, clustering, clustering.centres)

    def advance(self, state: State, machines: Labels, updates: Array) -> State:
        """Stage III; a cluster without usable replies keeps its model."""
        labels = state.clustering.labels[np.searchsorted(state.machines, machines)]
        models = state.models.copy()
        for cluster in np.unique(labels):
            aggregate = self._aggregate(updates[labels == cluster]).estimate
            models[cluster] = self._optimiser.next_model(models[cluster], aggregate)
        return replace(state, models=models)
