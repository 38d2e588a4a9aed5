"""Collects what happens in a run, scores it, and tells observers."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagma.arrays import Mask
from tagma.exchange import FIT, NO_MODEL
from tagma.server.results.cluster_scores import misclustering
from tagma.server.results.events import Observer, RoundFinished
from tagma.server.results.scores import Score, Seen
from tagma.strategies.algorithm_run import Round
from tagma.tasks.task import Truth


class Recorder:
    """The memory of a run, round by round."""

    def __init__(
        self,
        rounds: int,
        truth: Truth | None,
        byzantine: Mask | None,
        scores: Sequence[Score],
        observers: Sequence[Observer],
    ) -> None:
        self.rounds = rounds
        self.truth = truth
        self.byzantine = byzantine
        self.scores = scores
        self.observers = observers
        self.events: list[RoundFinished] = []
        self.messages = 0
        self.rejected: dict[int | None, Counter[str]] = defaultdict(Counter)
        self.joined: dict[int, int] = {}
        self.returned: dict[int, list[int]] = {}
        self.kept: dict[int, list[int]] = {}
        self.losses: list[list[float | None] | None] = []
        """The median loss of every model's clients after each round, where they measured it."""
        self.seconds = {
            "local_model": 0.0,
            "clustering": 0.0,
            "optimisation": 0.0,
            "evaluation": 0.0,
        }
        self.resumed: list[int] = []
        self.last: Round | None = None

    def observe_round(self, outcome: Round) -> None:
        """Score one round and pass it on."""
        self.last = outcome
        self.messages += outcome.sent
        self.joined |= dict.fromkeys(outcome.joined, outcome.number)
        for known in outcome.returned:
            self.returned.setdefault(known, []).append(outcome.number)
        for model in outcome.kept:
            self.kept.setdefault(model, []).append(outcome.number)
        for client, reason in outcome.rejected:
            self.rejected[client][reason] += 1
        self.seconds["evaluation"] += outcome.evaluation_seconds
        seconds = outcome.exchange_seconds + outcome.aggregation_seconds
        if outcome.work == FIT:
            self.seconds["local_model"] += outcome.exchange_seconds
            self.seconds["clustering"] += outcome.aggregation_seconds
        else:
            self.seconds["optimisation"] += seconds
        seen = self.seen
        self.losses.append(_loss_per_model(seen))
        event = RoundFinished(
            round=outcome.number,
            rounds=self.rounds,
            work=outcome.work,
            scores={score.name: score(seen) for score in self.scores},
            used=0 if outcome.replies is None else len(outcome.replies),
            rejected=len(outcome.rejected),
            bytes_down=outcome.bytes_down,
            bytes_up=outcome.bytes_up,
            seconds=seconds,
        )
        self.events.append(event)
        for observer in self.observers:
            observer(event)

    @property
    def seen(self) -> Seen:
        """What scores look at, after the last round."""
        assert self.last is not None
        byzantine = None if self.truth is None else self.byzantine
        last = self.last
        return Seen(last.clients, last.models, last.which, self.truth, byzantine, last.evaluations)

    def misclustering(self) -> float | None:
        """The share of honest clients that are not with their own at the end.

        Clients that came late count as well, and without a model nobody is with their own.
        """
        if self.last is None or self.truth is None:
            return None
        seen = self.seen
        rows = np.flatnonzero(seen.honest(seen.clients))
        if not len(rows):
            return 0.0
        found = seen.which[rows]
        placed = found != NO_MODEL
        true = self.truth.labels[seen.clients[rows]]
        wrong = misclustering(found[placed], true[placed]) * placed.sum()
        return float((wrong + (~placed).sum()) / len(rows))

    def record(self) -> dict[str, Any]:
        """Everything but the events, as JSON."""
        return {
            "messages": self.messages,
            "seconds": self.seconds,
            "rejected": [(client, dict(reasons)) for client, reasons in self.rejected.items()],
            "joined": list(self.joined.items()),
            "returned": list(self.returned.items()),
            "kept": list(self.kept.items()),
            "losses": self.losses,
            "resumed": self.resumed,
        }

    def restore(self, record: dict[str, Any], events: list[RoundFinished]) -> None:
        """Take over the memory of the recorder that wrote this record."""
        self.events[:] = events
        self.messages = record["messages"]
        self.seconds |= record["seconds"]
        for client, reasons in record["rejected"]:
            self.rejected[client] = Counter(reasons)
        self.joined = dict(record["joined"])
        self.returned = dict(record["returned"])
        self.kept = dict(record["kept"])
        self.losses = list(record["losses"])
        self.resumed = [*record["resumed"], len(events) + 1]


def _loss_per_model(seen: Seen) -> list[float | None] | None:
    """The median over the clients of each model, which few can move far."""
    if not any("loss" in found for found in seen.evaluations.values()):
        return None
    own: list[list[float]] = [[] for _ in seen.models]
    for client, model in zip(seen.clients.tolist(), seen.which.tolist(), strict=True):
        if model != NO_MODEL and "loss" in seen.evaluations.get(client, {}):
            own[model].append(seen.evaluations[client]["loss"])
    return [float(np.median(losses)) if losses else None for losses in own]
