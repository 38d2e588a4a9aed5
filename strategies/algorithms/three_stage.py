"""The three-stage algorithm as a state machine on arrays, without Flower.

    begin(machines, erms)             -> state    stage II: clusters and K warm-started models
    advance(state, machines, updates) -> state    stage III: one aggregation in every cluster

The state is everything the server knows between two rounds;
`tagma.strategies.screening.late_joining` adds machines to it, `tagma.server.checkpoint` writes and
reads it. `tagma.strategies.flower` connects the machine to Flower; tests and experiments can drive
it directly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation import Aggregator
from tagma.strategies.algorithms.optimiser import Optimiser
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.standing import NO_SCREENING, Replies, Screening, Standing

ClusterMachines = Callable[[Labels, Array], Clustering]
"""From machine numbers (m,) and their local models (m, d) to clusters."""

NO_CLUSTER = -1
"""The label of a machine that came late and is in no ball: it gets no model and is not asked."""


@dataclass(frozen=True)
class State:
    """What the server knows after stage II and after every round of stage III."""

    machines: Labels
    """The machines that take part, in ascending order, shape (m,); rows below belong to them."""
    erms: Array
    """The local models that they joined with, shape (m, d)."""
    labels: Labels
    """Their clusters, or `NO_CLUSTER`, shape (m,)."""
    trimmed: Mask
    """Those whose local model lies outside their cluster's ball, shape (m,)."""
    joined: Labels
    """The round in which each joined, shape (m,)."""
    clustering: Clustering
    """Stage II as it was; its rows belong to the machines that joined in round 1."""
    models: Array
    """One model per cluster, shape (K, d)."""
    standing: Standing
    """What is held against the machines."""

    @classmethod
    def after(
        cls,
        machines: Labels,
        erms: Array,
        clustering: Clustering,
        screening: Screening = NO_SCREENING,
    ) -> "State":
        """The state after stage II; the models start at the cluster centres."""
        return cls(
            machines=machines,
            erms=erms,
            labels=clustering.labels,
            trimmed=clustering.trimmed,
            joined=np.ones(len(machines), dtype=np.int64),
            clustering=clustering,
            models=clustering.centres,
            standing=screening.begin(clustering.trimmed),
        )

    def row_of(self, machine: int) -> int | None:
        """The row of a machine, or None if it is not known."""
        row = int(np.searchsorted(self.machines, machine))
        return row if row < len(self.machines) and self.machines[row] == machine else None

    def cluster_of(self, machine: int) -> int | None:
        """The cluster of a machine, or None if it has none."""
        row = self.row_of(machine)
        return None if row is None or self.labels[row] == NO_CLUSTER else int(self.labels[row])

    def clusters_of(self, machines: Labels) -> Labels:
        """The clusters of known machines."""
        return self.labels[np.searchsorted(self.machines, machines)]


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
        self,
        *,
        cluster: ClusterMachines,
        aggregate: Aggregator,
        optimiser: Optimiser,
        screening: Screening = NO_SCREENING,
    ) -> None:
        self._cluster = cluster
        self._aggregate = aggregate
        self._optimiser = optimiser
        self._screening = screening
        self.stage = optimiser.stage

    def begin(self, machines: Labels, erms: Array) -> State:
        """Stage II; the models start at the cluster centres."""
        return State.after(machines, erms, self._cluster(machines, erms), self._screening)

    def advance(self, state: State, machines: Labels, updates: Array) -> State:
        """Stage III; a cluster without replies that count keeps its model."""
        rows = np.searchsorted(state.machines, machines)
        labels = state.labels[rows]
        received = state.models[labels]
        ways = self._optimiser.ways(received, updates)
        replies = Replies(rows, labels, received, state.erms[rows], ways)
        counts, standing = self._screening.judge(state.standing, replies)
        models = state.models.copy()
        for cluster in np.unique(labels[counts]):
            aggregate = self._aggregate(updates[counts & (labels == cluster)]).estimate
            models[cluster] = self._optimiser.next_model(models[cluster], aggregate)
        return replace(state, models=models, standing=standing)
