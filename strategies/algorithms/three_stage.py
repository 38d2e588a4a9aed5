"""The three-stage algorithm as a state machine on arrays, without Flower.

    begin(clients, local_models)      -> state    stage II: clusters and K warm-started models
    advance(state, clients, updates)  -> state    stage III: one aggregation in every cluster
    admit(state, client, local_model) -> state    a client that comes later

The state is everything the server knows between two rounds; `tagma.server.checkpoint` writes and
reads it. `tagma.strategies.flower` connects the algorithm to Flower; tests and experiments can
drive it directly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation import Aggregator, with_spectral_filter
from tagma.strategies.algorithms.optimiser import Optimiser
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.placement import place
from tagma.strategies.screening.reply_check import DEFAULTS, Limits
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

    def admit(self, state: State, client: int, local_model: Array, round_number: int) -> State:
        """The state with one more client, which came after round 1."""


class ThreeStageAlgorithm:
    """Algorithm 1 of the paper; what goes beyond it is off by default (`strategies.screening`)."""

    def __init__(
        self,
        *,
        cluster: ClusterClients,
        aggregate: Aggregator,
        optimiser: Optimiser,
        quarantine: bool = False,
        readmission: bool = False,
        reply_check: bool = False,
        spectral_filter: bool = False,
        limits: Limits = DEFAULTS,
    ) -> None:
        self._cluster = cluster
        self._aggregate = with_spectral_filter(aggregate) if spectral_filter else aggregate
        self._optimiser = optimiser
        self._screening = Screening(quarantine, readmission, reply_check, limits)
        self.work = optimiser.work

    def begin(self, clients: Labels, local_models: Array) -> State:
        """Stage II; the models start at the cluster centres."""
        return State.after(
            clients, local_models, self._cluster(clients, local_models), self._screening
        )

    def admit(self, state: State, client: int, local_model: Array, round_number: int) -> State:
        """The newcomer joins the cluster whose ball holds its local model.

        Clustering anew would move clients between clusters in mid-run, and one Byzantine client
        could trigger it at will. A newcomer that no ball holds waits in quarantine where the run
        has one, with the model of the nearest cluster; else without a cluster, and is not asked.
        A clustering without balls takes everybody. Cost O(K d + m d).
        """
        clustering = state.clustering
        members = np.bincount(clustering.labels[~clustering.trimmed], minlength=clustering.k)
        found = place(local_model, clustering.centres, clustering.radius, members)
        row = int(np.searchsorted(state.clients, client))
        placed = found.inside or self._screening.quarantine
        return replace(
            state,
            clients=np.insert(state.clients, row, client),
            local_models=np.insert(state.local_models, row, local_model, axis=0),
            labels=np.insert(state.labels, row, found.cluster if placed else NO_CLUSTER),
            trimmed=np.insert(state.trimmed, row, not found.inside),
            joined=np.insert(state.joined, row, round_number),
            standing=state.standing.with_newcomer(row, quarantined=not found.inside),
        )

    def advance(self, state: State, clients: Labels, updates: Array) -> State:
        """Stage III; a cluster without replies that count keeps its model."""
        rows = np.searchsorted(state.clients, clients)
        labels = state.labels[rows]
        received = state.models[labels]
        directions = self._optimiser.directions(received, updates)
        replies = Replies(rows, labels, received, state.local_models[rows], directions)
        counts, standing = self._screening.judge(state.standing, replies)
        models = state.models.copy()
        for cluster in np.unique(labels[counts]):
            aggregate = self._aggregate(updates[counts & (labels == cluster)]).estimate
            models[cluster] = self._optimiser.next_model(models[cluster], aggregate)
        return replace(state, models=models, standing=standing)
