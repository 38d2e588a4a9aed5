"""Collects what happens in a run, scores it against the truth, and tells observers."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.server.results.cluster_verdicts import verdicts
from tagma.server.results.events import Observer, RoundFinished
from tagma.server.results.scores import (
    centre_error,
    clusterwise_misclustering,
    estimation_error,
    misclustering,
)
from tagma.strategies.algorithms.three_stage import NO_CLUSTER, State
from tagma.strategies.flower import Round
from tagma.strategies.screening.suspicion import suspicions
from tagma.tasks.task import Truth

_DIVERGED = 1e100
"""Errors beyond this are no numbers that anybody should read."""


class Recorder:
    """The memory of a run; `observe_round` is the strategy's callback.

    `tolerance` is the share of Byzantine clients in a cluster that the aggregation tolerates.
    """

    def __init__(
        self,
        rounds: int,
        truth: Truth | None,
        byzantine: Mask | None,
        observers: Sequence[Observer],
        *,
        tolerance: float,
    ) -> None:
        self.rounds = rounds
        self.truth = truth
        self.byzantine = byzantine
        self.observers = observers
        self.tolerance = tolerance
        self.events: list[RoundFinished] = []
        self.messages = 0
        self.rejected: dict[int | None, Counter[str]] = defaultdict(Counter)
        self.returned: dict[int, list[int]] = {}
        self.kept: dict[int, list[int]] = {}
        self.seconds = {
            "local_model": 0.0,
            "clustering": 0.0,
            "optimisation": 0.0,
            "evaluation": 0.0,
        }
        self.resumed: list[int] = []
        self.state: State | None = None
        self._last: Round | None = None

    def observe_round(self, outcome: Round) -> None:
        """Score one round and pass it on."""
        assert outcome.state is not None
        self.state = outcome.state
        self._last = outcome
        self.messages += outcome.sent
        for known in outcome.returned:
            self.returned.setdefault(known, []).append(outcome.number)
        for cluster in outcome.kept:
            self.kept.setdefault(cluster, []).append(outcome.number)
        for client, reason in outcome.rejected:
            self.rejected[client][reason] += 1
        seconds = outcome.exchange_seconds + outcome.aggregation_seconds
        if outcome.work == "local_model":
            self.seconds["local_model"] = outcome.exchange_seconds
            self.seconds["clustering"] = outcome.aggregation_seconds
        else:
            self.seconds["optimisation"] += seconds
        error = None
        if self.truth is not None:
            error = estimation_error(outcome.state.models, self.truth.centres)
            if error > _DIVERGED:
                error = None
        event = RoundFinished(
            round=outcome.number,
            rounds=self.rounds,
            work=outcome.work,
            estimation_error=error,
            used=outcome.used,
            rejected=len(outcome.rejected),
            seconds=seconds,
        )
        self.events.append(event)
        for observer in self.observers:
            observer(event)

    def observe_evaluation(self, messages: int, seconds: float) -> None:
        """Count the exchange after the last round as well."""
        self.messages += messages
        self.seconds["evaluation"] = seconds

    def misclustering(self) -> float | None:
        """The share of honest clients that are not with their own at the end.

        Clients that came late count as well, and without a cluster nobody is with their own.
        """
        if self.state is None or self.truth is None:
            return None
        known, honest = self._known(self.state.clients)
        rows = np.flatnonzero(known & honest)
        found = self.state.labels[rows]
        placed = found != NO_CLUSTER
        true = self.truth.labels[self.state.clients[rows]]
        if not len(rows):
            return 0.0
        wrong = misclustering(found[placed], true[placed]) * placed.sum()
        return float((wrong + (~placed).sum()) / len(rows))

    def clustering_scores(self) -> dict[str, list[float | None] | None]:
        """A_s, G_s, G_s^U and Lambda_s of the paper, before each iteration of stage II and after.

        None where the truth, or what the method did on its way, is not known.
        """
        names = (
            "misclustering_per_iteration",
            "clusterwise_misclustering_per_iteration",
            "trimmed_clusterwise_misclustering_per_iteration",
            "centre_error_per_iteration",
        )
        if self.state is None or self.truth is None:
            return dict.fromkeys(names)
        clustering = self.state.clustering
        clients = self.state.clients[self.state.joined == 1]
        known, honest = self._known(clients)
        rows = np.flatnonzero(known & honest)
        true = self.truth.labels[clients[rows]]
        found = clustering.history[:, rows]
        scores: list[list[float | None] | None] = [
            [misclustering(labels, true) for labels in found],
            [clusterwise_misclustering(labels, true) for labels in found],
            None,
            None,
        ]
        if clustering.trimmed_history is not None:
            trimmed = clustering.trimmed_history[:, rows]
            pairs = zip(found, trimmed, strict=True)
            scores[2] = [clusterwise_misclustering(labels, true, out) for labels, out in pairs]
        if clustering.centre_history is not None:
            centres = self.truth.centres
            scores[3] = [centre_error(step, centres) for step in clustering.centre_history]
        return dict(zip(names, scores, strict=True))

    def suspicions(self) -> list[str | None]:
        """Why the replies of the last round make a cluster suspect; None for those that are not."""
        assert self.state is not None
        assert self._last is not None
        state, clustering = self.state, self.state.clustering
        if self._last.work == "local_model":
            return [None] * clustering.k
        rows = np.searchsorted(state.clients, self._last.clients)
        counts = state.standing.counts[rows]
        return suspicions(
            clustering,
            state.local_models[state.joined == 1],
            state.models,
            state.labels[rows[counts]],
            self._last.updates[counts],
            tolerance=self.tolerance,
        )

    def clusters(self) -> list[dict[str, Any]]:
        """Size and make-up of every cluster."""
        assert self.state is not None
        state, clients, clustering = self.state, self.state.clients, self.state.clustering
        scatter = clustering.scatter(state.local_models[state.joined == 1])
        _, honest = self._known(clients)
        judged = verdicts(self.state, self.suspicions())
        rejected = np.array([client in self.rejected for client in clients.tolist()])
        rows = []
        for k in range(clustering.k):
            inside = state.labels == k
            count = int(inside.sum())
            honest_count = int(honest[inside].sum()) if self.byzantine is not None else None
            rows.append(
                {
                    "size": count,
                    "honest": honest_count,
                    "byzantine": None if honest_count is None else count - honest_count,
                    "trimmed": int(state.trimmed[inside].sum()),
                    "rejected": int(rejected[inside].sum()),
                    "radius": _finite(clustering.radius[k]),
                    "scatter": _finite(scatter[k]),
                }
                | judged[k]
            )
        return rows

    def _known(self, clients: Labels) -> tuple[Mask, Mask]:
        """Which clients the truth knows, and which of them are honest."""
        if self.byzantine is None:
            return np.zeros(len(clients), dtype=bool), np.zeros(len(clients), dtype=bool)
        known = clients < len(self.byzantine)
        honest = np.zeros(len(clients), dtype=bool)
        honest[known] = ~self.byzantine[clients[known]]
        return known, honest


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
