"""The three-stage algorithm as a state machine on arrays, without Flower.

    begin(clients, local_models)             -> state    stage II: clusters and K warm-started
    models advance(state, clients, updates) -> state    stage III: one aggregation in every cluster

The state is everything the server knows between two rounds;
`tagma.strategies.screening.late_joining` adds clients to it, `tagma.server.checkpoint` writes and
reads it. `tagma.strategies.flower` connects the client to Flower; tests and experiments can drive
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

ClusterClients = Callable[[Labels, Array], Clustering]
"""From client numbers (m,) and their local models (m, d) to clusters."""

NO_CLUSTER = -1
"""The label of a client that came late and is in no ball: it gets no model and is not asked."""


@dataclass(frozen=True)
class State:
    """What the server knows after stage II and after every round of stage III."""

    clients: Labels
    """The clients that take part, in ascending order, shape (m,); rows below belong to them."""
    local_models: Array
    """The local models that they joined with, shape (m, d)."""
    labels: Labels
    """Their clusters, or `NO_CLUSTER`, shape (m,)."""
    trimmed: Mask
    """Those whose local model lies outside their cluster's ball, shape (m,)."""
    joined: Labels
    """The round in which each joined, shape (m,)."""
    clustering: Clustering
    """Stage II as it was; its rows belong to the clients that joined in round 1."""
    models: Array
    """One model per cluster, shape (K, d)."""
    standing: Standing
    """What is held against the clients."""

    @classmethod
    def after(
        cls,
        clients: Labels,
        local_models: Array,
        clustering: Clustering,
        screening: Screening = NO_SCREENING,
    ) -> "State":
        """The state after stage II; the models start at the cluster centres."""
        return cls(
            clients=clients,
            local_models=local_models,
            labels=clustering.labels,
            trimmed=clustering.trimmed,
            joined=np.ones(len(clients), dtype=np.int64),
            clustering=clustering,
            models=clustering.centres,
            standing=screening.begin(clustering.trimmed),
        )

    def row_of(self, client: int) -> int | None:
        """The row of a client, or None if it is not known."""
        row = int(np.searchsorted(self.clients, client))
        return row if row < len(self.clients) and self.clients[row] == client else None

    def cluster_of(self, client: int) -> int | None:
        """The cluster of a client, or None if it has none."""
        row = self.row_of(client)
        return None if row is None or self.labels[row] == NO_CLUSTER else int(self.labels[row])

    def clusters_of(self, clients: Labels) -> Labels:
        """The clusters of known clients."""
        return self.labels[np.searchsorted(self.clients, clients)]


class Algorithm(Protocol):
    """The server's side of a federation with one model per cluster."""

    work: str
    """What clients are asked for after the first round."""

    def begin(self, clients: Labels, local_models: Array) -> State:
        """The state after round 1, from every client's local model; clients ascend."""

    def advance(self, state: State, clients: Labels, updates: Array) -> State:
        """The state after one more round; clients that sent nothing usable are left out."""


class ThreeStageAlgorithm:
    """Algorithm 1 of the paper."""

    def __init__(
        self,
        *,
        cluster: ClusterClients,
        aggregate: Aggregator,
        optimiser: Optimiser,
        screening: Screening = NO_SCREENING,
    ) -> None:
        self._cluster = cluster
        self._aggregate = aggregate
        self._optimiser = optimiser
        self._screening = screening
        self.work = optimiser.work

    def begin(self, clients: Labels, local_models: Array) -> State:
        """Stage II; the models start at the cluster centres."""
        return State.after(
            clients, local_models, self._cluster(clients, local_models), self._screening
        )

    def advance(self, state: State, clients: Labels, updates: Array) -> State:
        """Stage III; a cluster without replies that count keeps its model."""
        rows = np.searchsorted(state.clients, clients)
        labels = state.labels[rows]
        received = state.models[labels]
        ways = self._optimiser.ways(received, updates)
        replies = Replies(rows, labels, received, state.local_models[rows], ways)
        counts, standing = self._screening.judge(state.standing, replies)
        models = state.models.copy()
        for cluster in np.unique(labels[counts]):
            aggregate = self._aggregate(updates[counts & (labels == cluster)]).estimate
            models[cluster] = self._optimiser.next_model(models[cluster], aggregate)
        return replace(state, models=models, standing=standing)
