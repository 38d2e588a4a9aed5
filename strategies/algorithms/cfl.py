"""Clustered federated learning by recursive bipartition (Sattler, Mueller, Samek, 2020).

Everybody begins in one cluster, which is trained as by federated averaging. Once a cluster's model
hardly moves although its clients still want to,

    ||aggregate|| < eps1 * median_i ||update_i||    and    max_i ||update_i|| > eps2 * scale,

its clients disagree, and the next round may split it in two. An update is a gradient, or the way
from the trained model back to the one that was received. The paper's thresholds are absolute; here
the first is relative to the updates of the round, the second to `scale`, the median length of those
of round 1, so that neither depends on the step or the size of the model.

The two halves are those of the least similarity across, a = max cos(update_i, update_j) over i and
j on different sides: exactly, by cutting the weakest edge of the maximum spanning tree of the
similarities (single linkage). The split is made if they are far enough apart for the noise of the
updates, sqrt((1 - a) / 2) > gamma, the paper's criterion. Each half goes on from the common model
and may be split again. Clusters are never joined.

A round that may split asks all clients, whatever share is sampled. Who was away at a split, or came
later, is sent the model of the first split, and joins the client whose update there is most similar
to its own: the paper's walk down the tree of splits in one step, since updates that part at a lower
split already point apart at the first.

Needs neither K nor local models. Costs m^2 d for a split, and m d for the updates of the first one,
which are kept. Nothing protects the splits: Byzantine clients can ask for one at will, and as a
rule end up in clusters of their own.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import NO_MODEL, Replies, Request, rows_of
from tagma.strategies.aggregation import Aggregator, Memory
from tagma.strategies.aggregation.rule_verdicts import watched
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.fedavg import Weights, weights_of
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.clustering.bipartition import bipartition

_TINY = 1e-12
"""An update shorter than this points nowhere."""


@dataclass(frozen=True)
class FirstSplit:
    """The first split, by which clients without a cluster are placed."""

    model: Array
    clients: Labels
    """In ascending order, shape (n,)."""
    updates: Array
    """Their updates of this model, each of length 1, shape (n, d)."""


@dataclass(frozen=True)
class Bipartitions:
    """The clusters so far."""

    models: Array
    """One per cluster, shape (K, d)."""
    memories: tuple[Memory | None, ...]
    """What the rule remembers of every cluster."""
    due: Mask
    """Clusters that the next round may split, shape (K,)."""
    clients: Labels
    """Those that have a cluster, in ascending order, shape (m,); nobody before the first split."""
    labels: Labels
    """Their clusters, shape (m,)."""
    scale: float = 0.0
    """The median length of the first updates; 0 before them."""
    first: FirstSplit | None = None


class CFL(AlgorithmBase[Bipartitions]):
    """Clusters that are split in two where their clients disagree."""

    def __init__(
        self,
        *,
        aggregate: Aggregator,
        optimiser: ServerStep,
        eps1: Annotated[float, Gt(0)] = 0.45,
        eps2: Annotated[float, Ge(0)] = 0.55,
        gamma: Annotated[float, Ge(0), Le(1)] = 0.5,
        weights: Weights = "equal",
    ) -> None:
        self._aggregate, self._step, self._weights = watched(aggregate), optimiser, weights
        self._eps1, self._eps2, self._gamma = eps1, eps2, gamma

    def start(self, initial: Array) -> Bipartitions:
        """One cluster for all."""
        nobody = np.empty(0, dtype=np.int64)
        return Bipartitions(initial[None], (None,), np.zeros(1, dtype=bool), nobody, nobody)

    def everyone(self, state: Bipartitions, round_number: int) -> bool:
        """Where a cluster may be split."""
        return bool(state.due.any())

    def ask(self, state: Bipartitions, round_number: int, clients: Labels) -> Request:
        """An update of the cluster's model; of the first split's model from who has no cluster."""
        models, which = self.serve(state, clients)
        lost = which == NO_MODEL
        if state.first is not None and lost.any():
            which = np.where(lost, len(models), which)
            models = np.concatenate([models, state.first.model[None]])
        return self._step.request(clients, models, which)

    def serve(self, state: Bipartitions, clients: Labels) -> tuple[Array, Labels]:
        """To every client its cluster's model."""
        if state.first is None:
            return state.models, np.zeros(len(clients), dtype=np.int64)
        return state.models, rows_of(clients, state.clients, state.labels)

    def counted(self, before: Bipartitions, after: Bipartitions, clients: Labels) -> Mask:
        """Those who had a cluster."""
        return self.serve(before, clients)[1] != NO_MODEL

    def learn(self, state: Bipartitions, request: Request, replies: Replies) -> Bipartitions:
        """Clusters move, and are split; then who has none joins one."""
        rows = request.rows(replies.clients)
        updates = self._step.directions(request.models[rows], replies.vectors)
        lengths = np.linalg.norm(updates, axis=1)
        pointing = updates / np.maximum(lengths, _TINY)[:, None]
        after = replace(state, scale=state.scale or float(np.median(lengths)))
        known = rows < len(state.models)
        for cluster in np.unique(rows[known]).tolist():
            own = rows == cluster
            after, moved = self._moved(after, cluster, replies.only(own))
            disagree = moved < self._eps1 * np.median(lengths[own])
            due = after.due.copy()
            due[cluster] = disagree and lengths[own].max() > self._eps2 * after.scale
            after = replace(after, due=due)
            if state.due[cluster]:
                sent = request.models[cluster]
                after = self._split(after, cluster, sent, replies.clients[own], pointing[own])
        return after if known.all() else _placed(after, replies.clients[~known], pointing[~known])

    def _moved(self, state: Bipartitions, cluster: int, own: Replies) -> tuple[Bipartitions, float]:
        """The cluster's model a step further, and the length of the aggregate."""
        model = state.models[cluster]
        found = self._aggregate(
            own.vectors,
            clients=own.clients,
            weights=weights_of(own, self._weights),
            reference=own.reference_for(cluster),
            memory=state.memories[cluster],
            origin=self._step.origin(model),
        )
        models, memories = state.models.copy(), list(state.memories)
        models[cluster] = self._step(model, found.estimate, own.extras)
        memories[cluster] = found.memory
        moved = float(np.linalg.norm(self._step.directions(model, found.estimate)))
        return replace(state, models=models, memories=tuple(memories)), moved

    def _split(
        self, state: Bipartitions, cluster: int, sent: Array, clients: Labels, updates: Array
    ) -> Bipartitions:
        """The cluster in two, if that leaves enough between them; its absent clients lose it."""
        other, similarity = bipartition(updates)
        if not other.any() or np.sqrt((1 - similarity) / 2) <= self._gamma:
            return state
        remain = (state.labels != cluster) & ~np.isin(state.clients, clients)
        after = replace(
            state,
            models=np.concatenate([state.models, state.models[[cluster]]]),
            memories=(*state.memories, state.memories[cluster]),
            due=np.append(np.where(np.arange(len(state.due)) == cluster, False, state.due), False),
            clients=state.clients[remain],
            labels=state.labels[remain],
            first=state.first or FirstSplit(sent, clients, updates),
        )
        return _with_members(after, clients, np.where(other, len(state.models), cluster))


def _placed(state: Bipartitions, clients: Labels, updates: Array) -> Bipartitions:
    """Clients join the one whose update of the first split's model is most like theirs."""
    assert state.first is not None
    which = rows_of(state.first.clients, state.clients, state.labels)
    has = which != NO_MODEL
    if not has.any():
        return state
    nearest = np.argmax(updates @ state.first.updates[has].T, axis=1)
    return _with_members(state, clients, which[has][nearest])


def _with_members(state: Bipartitions, clients: Labels, labels: Labels) -> Bipartitions:
    everybody = np.concatenate([state.clients, clients])
    order = everybody.argsort()
    both = np.concatenate([state.labels, labels])
    return replace(state, clients=everybody[order], labels=both[order])
