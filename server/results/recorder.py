"""Collects what happens in a run, scores it, and tells observers."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.exchange import FIT, NO_MODEL
from tagma.server.results.client_metrics import within_range
from tagma.server.results.cluster_scores import adjusted_rand_index, misclustering
from tagma.server.results.detection import shares_left_out
from tagma.server.results.events import Observer, RoundFinished
from tagma.server.results.scores import Score, Seen
from tagma.strategies.round_outcome import Round
from tagma.tasks.task import Truth


@dataclass(frozen=True)
class RoundRecord:
    """What is remembered of one round: all that the results of a run say of it."""

    event: RoundFinished
    losses: tuple[float | None, ...] | None
    """The median loss of every model's clients, where they measured it."""
    dropped: Mapping[str, int]
    """How many values of a metric were none that it can have."""
    messages: int
    traffic: "Traffic"
    rejected: tuple[tuple[int | None, str], ...]
    evaluations_rejected: tuple[tuple[int | None, str], ...]
    joined: tuple[int, ...]
    returned: tuple[int, ...]
    kept: tuple[int, ...]
    judged: bool
    """Whether the rule told clients apart."""
    seconds: Mapping[str, float]
    """By what they were spent on."""
    resumed: bool
    """Whether it was the first one after a resume."""


@dataclass(frozen=True)
class Traffic:
    """What was asked and what came, in numbers: of a round, or of all."""

    asked: int = 0
    introduced: int = 0
    unused: int = 0
    bytes: int = 0
    evaluations_asked: int = 0
    evaluations_used: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        more = vars(other)
        return Traffic(**{name: count + more[name] for name, count in vars(self).items()})


class Recorder:
    """The memory of a run: the sum of what its rounds brought, and their scores in order."""

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
        self.dropped: Counter[str] = Counter()
        self.messages = 0
        self.traffic = Traffic()
        self.evaluations_rejected: Counter[str] = Counter()
        self.rejected: dict[int | None, Counter[str]] = defaultdict(Counter)
        self.joined: dict[int, int] = {}
        self.returned: dict[int, list[int]] = {}
        self.kept: dict[int, list[int]] = {}
        self.losses: list[tuple[float | None, ...] | None] = []
        self.seconds = {
            "local_model": 0.0,
            "clustering": 0.0,
            "optimisation": 0.0,
            "evaluation": 0.0,
        }
        self.left_out: list[tuple[float | None, float | None]] = []
        self.judged = False
        self.resumed: list[int] = []
        self.last: Round | None = None
        self.latest: RoundRecord | None = None
        self._resumes = False

    def observe_round(self, outcome: Round) -> None:
        """Score one round and pass it on."""
        evaluations, dropped = within_range(outcome.evaluations, self.scores)
        outcome.evaluations = evaluations
        self.last = outcome
        exchange, aggregation = outcome.exchange_seconds, outcome.aggregation_seconds
        seconds = {"optimisation": exchange + aggregation}
        if outcome.work == FIT:
            seconds = {"local_model": exchange, "clustering": aggregation}
        seen = self.seen
        found, mistaken = shares_left_out(seen, outcome.answered, outcome.left_out)
        event = RoundFinished(
            round=outcome.number,
            rounds=self.rounds,
            work=outcome.work,
            scores={score.name: score(seen) for score in self.scores},
            used=0 if outcome.replies is None else len(outcome.replies),
            rejected=len(outcome.rejected),
            kept=len(outcome.kept),
            repeats=outcome.repeats,
            bytes_down=outcome.bytes_down,
            bytes_up=outcome.bytes_up,
            seconds=exchange + aggregation,
            true_positive=found,
            false_positive=mistaken,
        )
        self.latest = RoundRecord(
            event=event,
            losses=_loss_per_model(seen),
            dropped=dropped,
            messages=outcome.sent,
            traffic=Traffic(
                asked=outcome.asked,
                introduced=outcome.introduced,
                unused=outcome.unused,
                bytes=outcome.bytes_received,
                evaluations_asked=outcome.evaluations_asked,
                evaluations_used=len(outcome.evaluations),
            ),
            evaluations_rejected=tuple(outcome.evaluations_rejected),
            rejected=tuple(outcome.rejected),
            joined=tuple(outcome.joined),
            returned=tuple(outcome.returned),
            kept=tuple(outcome.kept),
            judged=outcome.judged,
            seconds=seconds | {"evaluation": outcome.evaluation_seconds},
            resumed=self._resumes,
        )
        self._resumes = False
        self._remember(self.latest)
        for observer in self.observers:
            observer(event)

    def restore(self, records: Sequence[RoundRecord]) -> None:
        """Take over the memory of the recorder of these rounds; a `ValueError` if they do not fit.

        They must be all rounds from the first on.
        """
        names = {score.name for score in self.scores}
        for number, record in enumerate(records, 1):
            event, spent_on = record.event, record.seconds.keys()
            known = event.scores.keys() == names and spent_on <= self.seconds.keys()
            refused = [client for client, _ in record.rejected if client is not None]
            numbers = (*refused, *record.joined, *record.returned, *record.kept, record.messages)
            if event.round != number or not known or min(numbers) < 0:
                raise ValueError(f"round {number} is not recorded as it should be")
        for record in records:
            self._remember(record)
        self._resumes = True

    def _remember(self, record: RoundRecord) -> None:
        number = record.event.round
        self.events.append(record.event)
        self.losses.append(record.losses)
        self.left_out.append((record.event.true_positive, record.event.false_positive))
        self.judged |= record.judged
        self.dropped.update(record.dropped)
        self.messages += record.messages
        self.traffic += record.traffic
        self.evaluations_rejected.update(reason for _, reason in record.evaluations_rejected)
        for client, reason in record.rejected:
            self.rejected[client][reason] += 1
        self.joined |= dict.fromkeys(record.joined, number)
        for client in record.returned:
            self.returned.setdefault(client, []).append(number)
        for model in record.kept:
            self.kept.setdefault(model, []).append(number)
        for spent_on, seconds in record.seconds.items():
            self.seconds[spent_on] += seconds
        if record.resumed:
            self.resumed.append(number)

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
        if self.last is None or self.truth is None or not self.truth.knows_clusters:
            return None
        found, true = self._found_and_true(self.truth)
        if not len(found):
            return 0.0
        placed = found != NO_MODEL
        wrong = misclustering(found[placed], true[placed]) * placed.sum()
        return float((wrong + (~placed).sum()) / len(found))

    def ari(self) -> float | None:
        """The adjusted Rand index of the honest clients' clusters and their true ones.

        Who has no model is on its own.
        """
        if self.last is None or self.truth is None or not self.truth.knows_clusters:
            return None
        return adjusted_rand_index(*self._found_and_true(self.truth))

    def _found_and_true(self, truth: Truth) -> tuple[Labels, Labels]:
        """The models of the honest clients that belong to a true cluster, and those clusters."""
        seen = self.seen
        rows = np.flatnonzero(seen.honest(seen.clients))
        true = truth.labels[seen.clients[rows]]
        return seen.which[rows][true >= 0], true[true >= 0]


def _loss_per_model(seen: Seen) -> tuple[float | None, ...] | None:
    """The median over the clients of each model, which few can move far."""
    if not any("loss" in found for found in seen.evaluations.values()):
        return None
    own: list[list[float]] = [[] for _ in seen.models]
    for client, model in zip(seen.clients.tolist(), seen.which.tolist(), strict=True):
        if model != NO_MODEL and "loss" in seen.evaluations.get(client, {}):
            own[model].append(seen.evaluations[client]["loss"])
    return tuple(float(np.median(losses)) if losses else None for losses in own)
