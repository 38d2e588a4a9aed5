"""The paper's algorithm: local models, robust clustering, robust optimisation in each cluster.

Round 1 asks every client for its local model (stage I) and clusters them (stage II): K models start
at the centres. Every later round (stage III) sends each client its cluster's model and moves the
model by the aggregate of what the cluster's clients answer. A cluster without replies that count
keeps its model. What goes beyond the paper is off by default: see `tagma.strategies.screening`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import FIT, HALF, NO_MODEL, TRAIN, Replies, Request
from tagma.strategies.aggregation import (
    Aggregator,
    centered_clipping,
    central_half,
    trimmed_mean,
    with_spectral_filter,
)
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.pre.with_running_clip import with_running_clip
from tagma.strategies.aggregation.pre.with_spectral_filter import FACTOR, REMOVABLE
from tagma.strategies.aggregation.rule_verdicts import watched
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.algorithms.local_models import is_same_model
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.benefit import CLEAR, LIMIT, differences, likeness
from tagma.strategies.screening.confinement import Confinement
from tagma.strategies.screening.few_replies import few_that_oppose
from tagma.strategies.screening.placement import place
from tagma.strategies.screening.reply_check import DEFAULTS, Limits
from tagma.strategies.screening.reply_weights import reply_weights, room_by
from tagma.strategies.screening.standing import (
    Answers,
    Screening,
    contradicts,
)

ClusterClients = Callable[..., Clustering]
"""From client numbers (m,) and their local models (m, d) to clusters; one that declares them as
keyword-only parameters is given `examples`, the numbers of examples that clients report, and
`initial`, the model that local training starts from."""

_ASSUMED = 0.4
"""Trimmed from each side, where nobody knows whom to leave out."""
OUT_IN_STAGE_THREE = "more than half of the replies disagree with the local models"


@dataclass(frozen=True)
class ThreeStageState:
    """What the server knows between two rounds."""

    initial: Array
    """The task's initial model, where local training starts, shape (d,)."""
    clustered: Clustered | None = None
    """None before stage II."""


class ThreeStage(AlgorithmBase[ThreeStageState]):
    """Algorithm 1 of the paper."""

    def __init__(
        self,
        *,
        cluster: ClusterClients,
        aggregate: Aggregator,
        optimiser: ServerStep,
        quarantine: bool = False,
        readmission: bool = False,
        reply_check: bool = False,
        spectral_filter: bool = False,
        factor: Annotated[float, Gt(0)] = FACTOR,
        removable: Annotated[float, Ge(0), Lt(1)] = REMOVABLE,
        of_changes: bool = False,
        where_helpful: bool = False,
        clients_choose: bool = False,
        recluster: Annotated[int, Ge(0)] = 0,
        confined: bool = False,
        weights: Literal["equal", "examples"] = "equal",
        limits: Limits = DEFAULTS,
    ) -> None:
        self._cluster = cluster
        self._told = inspect.signature(cluster).parameters
        if of_changes:
            aggregate = with_running_clip(aggregate)
        if spectral_filter:
            aggregate = with_spectral_filter(aggregate, factor=factor, removable=removable)
        self._aggregate = watched(from_origin(aggregate) if of_changes else aggregate)
        self._of_changes = of_changes
        self._where_helpful = where_helpful
        self._clients_choose = clients_choose
        if recluster and optimiser.work != TRAIN:
            raise ValueError("recluster compares trained models, so it needs optimiser=local")
        self._recluster = recluster
        self._single = watched(central_half)
        self._between = from_origin(centered_clipping)
        self._confined = confined
        self._weights = weights
        self._step = optimiser
        self._screening = Screening(quarantine, readmission, reply_check, limits)

    def start(self, initial: Array) -> ThreeStageState:
        """Nothing is known yet."""
        return ThreeStageState(initial)

    def introduce(self, state: ThreeStageState, clients: Labels) -> Request:
        """Stage I: everybody's local model."""
        everyone = np.zeros(len(clients), dtype=np.int64)
        return Request(FIT, clients, state.initial[None], everyone)

    def ask(self, state: ThreeStageState, round_number: int, clients: Labels) -> Request:
        """Local models first; then an update of the cluster's model, from who has a cluster."""
        if state.clustered is None:
            return self.introduce(state, clients)
        which = state.clustered.labels_of(clients)
        placed = which != NO_MODEL
        if self._due(state):
            everyone = np.zeros(len(clients), dtype=np.int64)
            return self._step.request(clients, self._middle(state)[None], everyone)
        models = state.clustered.offered
        if state.clustered.common is not None and round_number % 2:
            which = np.where(placed, len(models) - 1, NO_MODEL)
        half = self._half(state)
        settings = {HALF: float(half)} if half else None
        return self._step.request(clients[placed], models, which[placed], settings)

    def _half(self, state: ThreeStageState) -> int:
        """Which half of their examples clients train on, to see if clusters help; 0: on all."""
        if not self._where_helpful or state.clustered is None or state.clustered.judged:
            return 0
        return 1 if state.clustered.differences is None else 2

    def everyone(self, state: ThreeStageState, round_number: int) -> bool:
        """All clients say whether clusters help, and all are clustered again."""
        return self._half(state) > 0 or self._due(state)

    def _due(self, state: ThreeStageState) -> bool:
        """Whether clients are clustered again in this round."""
        known = state.clustered
        if known is None or not self._recluster or self._half(state):
            return False
        return known.since >= self._recluster

    def _middle(self, state: ThreeStageState) -> Array:
        """One model between those of all clients, from which their updates can be compared."""
        known = state.clustered
        assert known is not None
        models = known.models[known.labels[known.labels != NO_MODEL]]
        return self._between(models, origin=_origin(state)).estimate.astype(models.dtype)

    def _clustered_anew(self, state: ThreeStageState, replies: Replies) -> ThreeStageState:
        """Stage II again, on what clients change about the same model."""
        assert state.clustered is not None
        middle = self._middle(state)
        found = self._stage_two(middle, replies)
        return replace(state, clustered=state.clustered.clustered_anew(middle, replies, found))

    def learn(self, state: ThreeStageState, request: Request, replies: Replies) -> ThreeStageState:
        """Stage II after the first round, stage III after every other."""
        if state.clustered is None:
            return replace(state, clustered=self._grouped(state.initial, replies))
        if self._due(state):
            return self._clustered_anew(state, replies)
        if state.clustered.common is not None and self._is_of_common(state.clustered, request):
            moved = self._single(replies.vectors, origin=state.clustered.common).estimate
            after = replace(state.clustered, common=moved, since=state.clustered.since + 1)
            return replace(state, clustered=after)
        after = self._optimise(_origin(state), state.clustered, replies)
        if self._half(state):
            after = self._judged(state, after, replies)
        return replace(state, clustered=replace(after, since=after.since + 1))

    @staticmethod
    def _is_of_common(state: Clustered, request: Request) -> bool:
        """Whether this round trains the common model."""
        return request.which is not None and bool((request.which == len(state.models)).all())

    def _judged(self, state: ThreeStageState, after: Clustered, replies: Replies) -> Clustered:
        """The same with what this half says; one model instead, if clusters do not help."""
        assert state.clustered is not None
        labels = state.clustered.labels_of(replies.clients)
        counts = self.counted(state, replace(state, clustered=after), replies.clients)
        changes = replies.vectors - state.clustered.models[labels]
        found = differences(replies.clients[counts], changes[counts], labels[counts])
        if after.differences is None:
            return replace(after, differences=found)
        alike = likeness(after.differences, found)
        after = replace(after, differences=None, judged=True, likeness=alike)
        if alike is None:
            return after
        if alike <= LIMIT:
            return after.with_reason(f"within them clients are alike ({alike:.2f} <= {LIMIT})")
        model = self._single(after.local_models, origin=_origin(state)).estimate
        model = model.astype(after.models.dtype)
        why = f"clients differ within them, too ({alike:.2f} > {LIMIT})"
        if self._clients_choose and alike <= CLEAR:
            return replace(after, common=model).with_reason(f"and one model beside them: {why}")
        return after.with_one_model(model).with_reason(f"but one model: {why}")

    def _grouped(self, initial: Array, replies: Replies) -> Clustered:
        """Stage II."""
        found = self._stage_two(initial, replies)
        state = Clustered.after(replies.clients, replies.vectors, found, self._screening)
        if self._weights == "examples":
            weights = reply_weights(replies.examples, found.noise, state.standing.counts)
            state = replace(state, weights=weights)
        if self._of_changes and not state.contradiction:
            state = replace(state, models=self._first_models(state, initial, replies))
        if not self._confined or state.contradiction:
            return state
        bounds = Confinement.around(
            replies.vectors, state.labels, state.standing.counts, state.weights, found.k
        )
        return replace(state, confinement=bounds)

    def _stage_two(self, initial: Array, replies: Replies) -> Clustering:
        about = {"examples": replies.examples, "initial": initial}
        told = {name: known for name, known in about.items() if name in self._told}
        return self._cluster(replies.clients, replies.vectors, **told)

    def _first_models(self, state: Clustered, initial: Array, replies: Replies) -> Array:
        """What the rule makes of every cluster's local models."""
        models = state.models.copy()
        for cluster in range(len(models)):
            own = state.standing.counts & (state.labels == cluster)
            if own.any():
                models[cluster] = self._aggregate(
                    replies.vectors[own],
                    clients=replies.clients[own],
                    weights=_uneven(state.weights, np.flatnonzero(own)),
                    origin=initial,
                ).estimate
        return models

    def _optimise(self, initial: Array, state: Clustered, replies: Replies) -> Clustered:
        rows = np.searchsorted(state.clients, replies.clients)
        labels, updates = state.labels[rows], replies.vectors
        received = state.models[labels]
        directions = self._step.directions(received, updates)

        def answers() -> Answers:
            room = None if state.weights is None else room_by(state.weights[rows])
            return Answers(rows, labels, received, state.local_models[rows], directions, room)

        counts, standing = self._screening.judge(state.standing, rows, answers)
        if self._of_changes:
            claimed = state.local_models[rows] - initial
            counts = counts & ~few_that_oppose(-directions, claimed, labels, counts)
        models = state.models.copy()
        memories = list(state.memories or (None,) * len(models))
        bounds, judges = state.confinement, ~standing.quarantined[rows]
        placed, second = state.labels, state.second
        if second is not None and (open_now := second.open[rows]).any():
            counts = counts & ~open_now
            gaps = received - state.local_models[rows]
            placed, second = second.after(placed, rows, gaps, directions)
        contradiction = state.contradiction
        if contradiction is None and contradicts(~standing.counts):
            contradiction = OUT_IN_STAGE_THREE
        aggregate = self._single if state.single else self._aggregate
        if contradiction is not None:
            aggregate = partial(trimmed_mean, beta=_ASSUMED)
        for cluster in np.unique(labels[counts]):
            own = counts & (labels == cluster)
            found = aggregate(
                updates[own],
                clients=replies.clients[own],
                weights=_uneven(state.weights, rows[own]),
                reference=replies.reference_for(cluster),
                memory=memories[cluster],
                origin=self._step.origin(models[cluster]),
            )
            model = self._step(models[cluster], found.estimate, replies.told_by(own))
            if bounds is not None:
                centre = state.clustering.centres[cluster]
                said = directions[judges & (labels == cluster)]
                model, bounds = bounds.confine(cluster, centre, model, said)
            models[cluster] = model
            memories[cluster] = found.memory
        return replace(
            state, models=models, standing=standing, memories=tuple(memories),
            confinement=bounds, contradiction=contradiction, labels=placed, second=second,
        )  # fmt: skip

    def serve(self, state: ThreeStageState, clients: Labels) -> tuple[Array, Labels]:
        """Every client gets its cluster's model, once there is one."""
        if state.clustered is None:
            return state.initial[None], np.full(len(clients), NO_MODEL)
        return state.clustered.offered, state.clustered.labels_of(clients)

    def admit(self, state: ThreeStageState, round_number: int, replies: Replies) -> ThreeStageState:
        """Newcomers join the cluster whose ball holds their local model.

        Clustering anew would move clients between clusters in mid-run, and one Byzantine client
        could trigger it at will. A newcomer that no ball holds waits in quarantine where the run
        has one, with the model of the nearest cluster; else without a cluster, and is not asked.
        A clustering without balls takes everybody. Cost O(K d + m d) for each.
        """
        assert state.clustered is not None
        after = state.clustered
        for client, local_model in zip(replies.clients.tolist(), replies.vectors, strict=True):
            after = self._admitted(after, client, local_model, round_number)
        return replace(state, clustered=after)

    def _admitted(
        self, state: Clustered, client: int, local_model: Array, round_number: int
    ) -> Clustered:
        clustering = state.clustering
        members = np.bincount(clustering.labels[~clustering.trimmed], minlength=clustering.k)
        found = place(local_model, *state.first_balls(), members, clustering.noise)
        row = int(np.searchsorted(state.clients, client))
        placed = found.inside or self._screening.quarantine
        return replace(
            state,
            clients=np.insert(state.clients, row, client),
            local_models=np.insert(state.local_models, row, local_model, axis=0),
            joined_with=None if state.joined_with is None else np.insert(
                state.joined_with, row, local_model, axis=0
            ),
            labels=np.insert(state.labels, row, found.cluster if placed else NO_MODEL),
            trimmed=np.insert(state.trimmed, row, not found.inside),
            joined=np.insert(state.joined, row, round_number),
            standing=state.standing.with_newcomer(row, quarantined=not found.inside),
            weights=None if state.weights is None else np.insert(state.weights, row, found.weight),
            second=None if state.second is None else state.second.with_newcomer(row),
        )  # fmt: skip

    def recognises(self, state: ThreeStageState, client: int, vector: Array) -> bool:
        """Who comes back sends the local model that it joined with."""
        row = None if state.clustered is None else state.clustered.row_of(client)
        if state.clustered is None or row is None:
            return False
        return is_same_model(state.clustered.first_models[row], vector)

    def counted(self, before: ThreeStageState, after: ThreeStageState, clients: Labels) -> Mask:
        """Nobody who is in quarantine or excluded, and no reply that failed the check."""
        assert after.clustered is not None
        rows, now = np.searchsorted(after.clustered.clients, clients), after.clustered.standing
        if before.clustered is None:
            return now.counts[rows]
        if before.clustered.common is not after.clustered.common:  # everybody's
            return np.ones(len(clients), dtype=bool)
        then = before.clustered.standing
        return (then.counts & (now.strikes <= then.strikes))[rows]

    def findings(self, state: ThreeStageState) -> Clustered | None:
        """Clusters, balls and what is held against whom."""
        return state.clustered


def _origin(state: ThreeStageState) -> Array:
    """The model that clients were clustered from."""
    known = state.clustered
    return state.initial if known is None or known.origin is None else known.origin


def _uneven(weights: Array | None, rows: Labels) -> Array | None:
    """The weights of these rows, or None where all are alike."""
    own = None if weights is None else weights[rows]
    return None if own is None or (own == own[0]).all() else own
