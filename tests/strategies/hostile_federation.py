"""A federation whose clients send whatever a test has them send, and what must come of it.

The clients are points: their data have one minimiser each. They are not ours, but answer under the
same names. `Federation.play` plays a round through the very loop that runs have, and compares what
the Strategy says of it with what was sent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Message, MetricRecord

from tagma.exchange import CHOICE, EVALUATE, FIT, GRADIENT, INTRODUCE, SMOOTHNESS
from tagma.flower_private import ErrorCode, be_server, content_of, name_message, own_copy
from tagma.grid_wrapper import PassingGrid
from tagma.layout import Layout
from tagma.message_limits import Intake, Limits
from tagma.plain_state import put_together, taken_apart
from tagma.server.rounds import RoundsPlan, play
from tagma.server.state_file import sealed, unsealed
from tagma.server.wiring import algorithm_of
from tagma.settings import Settings, compose
from tagma.strategies.flower import AlgorithmStrategy
from tagma.strategies.quorum import TooFewAnswers
from tagma.strategies.replies import ABSENT, BESIDES, NOT_FINITE
from tagma.wire import ARRAYS, CLIENT, EXAMPLES, METRICS, config_of, models_of, pack, work_of
from tests.hostile import KINDS, MODEL, error

D = 3
LAYOUT = Layout.of({MODEL: np.zeros(D)})
HONEST = ""
LARGEST = 1e150
"""Entries beyond this are none."""


@dataclass(frozen=True)
class Point:
    """A client."""

    claim: int | None
    """The number that it gives itself."""
    minimiser: Any


@dataclass
class Exchange:
    """What was asked in one exchange, and what ought to be counted."""

    work: str
    asked: int = 0
    usable: dict[int, Any] = field(default_factory=dict)
    """By node, the vector that was sent, if one was."""
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        return len(self.usable) + self.dropped[NOT_FINITE]


class Wire(PassingGrid):
    """Carries messages to the points that are there, and what they are to send back."""

    immediate = True

    def __init__(self) -> None:  # around no other
        self.points: dict[int, Point] = {}
        self.here: set[int] = set()
        self.kinds: Mapping[int, str] = {}
        """What nodes send instead of honest replies, in each exchange."""
        self.order = 0
        self.late: list[Message] = []
        self.delayed: set[int] = set()
        """Nodes whose replies come in the next exchange."""
        self.exchanges: list[Exchange] = []
        self.hostile = 0
        """Replies that were not honest."""
        self.intake = Intake(Limits.of(LAYOUT))
        self._names = 0

    def get_node_ids(self) -> Iterable[int]:
        return sorted(self.here)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        messages, replies = list(messages), self.late
        found = Exchange(work_of(messages[0]) if messages else "")
        found.dropped["unsolicited"] += len(replies)
        self.late = []
        for message in messages:
            found.asked += 1
            self._names += 1
            name_message(message, f"m{self._names}")
            replies = replies + self._answers(message, found)
        self.exchanges.append(found)
        rows = np.random.default_rng(self.order).permutation(len(replies)).tolist()
        # A client's own replies stay in their order.
        nodes = [reply.metadata.src_node_id for reply in replies]
        queues = {node: [r for r in replies if r.metadata.src_node_id == node] for node in nodes}
        return [self.intake.take(queues[nodes[row]].pop(0)) for row in rows]

    def _answers(self, message: Message, found: Exchange) -> list[Message]:
        node = message.metadata.dst_node_id
        reply = answer_of(self.points[node], own_copy(message))
        kind = KINDS.get(self.kinds.get(node, HONEST))
        if kind is None or not kind.applies(reply):
            sent, reason, beside = [reply], None, ()
        else:
            sent, reason, beside = changed(kind.change, reply), kind.reason, kind.beside
            self.hostile += 1
        if node in self.delayed:
            self.late += sent
            sent, reason, beside = [], "no reply", ()
        found.dropped.update(beside)
        vector = vector_of(sent[0]) if reason is None else None
        if vector is not None and not np.abs(vector).max() <= LARGEST:
            reason = NOT_FINITE  # an honest one, of a model that has diverged
        if reason is None:
            found.usable[node] = vector
        else:
            found.dropped[reason] += 1
        return sent


def changed(change: Any, reply: Message) -> list[Message]:
    """As every Grid of ours: what a client raises is an error reply."""
    try:
        sent = change(own_copy(reply))
        if sent is None:
            raise TypeError("no Message")
        return sent if isinstance(sent, list) else [sent]
    except (Exception, SystemExit) as problem:
        return [error(reply, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, str(problem))]


def vector_of(reply: Message) -> Any:
    if ARRAYS not in reply.content:
        return None
    return np.frombuffer(reply.content[ARRAYS][MODEL].data[-8 * D :]).copy()


def answer_of(point: Point, message: Message) -> Message:
    """What a point answers honestly."""
    work, about = work_of(message), MetricRecord({EXAMPLES: 10})
    if point.claim is not None:
        about[CLIENT] = point.claim
    if work == INTRODUCE:
        return Message(content_of({METRICS: about}), reply_to=message)
    models = [model for model, _ in models_of(message, LAYOUT)]
    with np.errstate(over="ignore", invalid="ignore"):
        losses = [float(np.abs(model - point.minimiser).max()) for model in models]
        row = int(np.argmin(losses)) if losses else 0
        if work == EVALUATE:
            about["loss"] = losses[0]
            return Message(content_of({METRICS: about}), reply_to=message)
        if config_of(message).get(SMOOTHNESS):
            about[SMOOTHNESS] = 1.0
        if ARRAYS not in message.content and models:
            about[CHOICE] = row
        way = models[row] - point.minimiser
        vector = {FIT: point.minimiser, GRADIENT: way}.get(work, models[row] - way / 2)
    arrays = pack(LAYOUT, np.asarray(vector, dtype=float))
    return Message(content_of({ARRAYS: arrays, METRICS: about}), reply_to=message)


class Federation:
    """A Strategy with its clients; any check that fails is an AssertionError."""

    def __init__(self, overrides: Iterable[str]) -> None:
        be_server(1)
        self.settings: Settings = compose(list(overrides))
        self.wire = Wire()
        self.number = self.most = 0
        self.strategy = self._strategy()

    def _strategy(self) -> AlgorithmStrategy[Any]:
        settings = self.settings
        return AlgorithmStrategy(
            algorithm_of(settings), {MODEL: np.zeros(D)}, layout=LAYOUT, seed=settings.seed,
            sampling=settings.sampling.fraction, min_replies=settings.min_replies,
            quorum=settings.quorum,
        )  # fmt: skip

    def play(self, *, evaluate: bool = False) -> bool:
        """Play the next round, or try it again; whether enough clients answered."""
        wire, strategy, number = self.wire, self.strategy, self.number + 1
        wire.exchanges.clear()
        done: list[Any] = []
        plan = RoundsPlan(number, number, lambda _: evaluate, done.append)
        try:
            play(strategy, wire, plan, timeout=1, patience=1)
        except TooFewAnswers:
            self._check_refusal()
            if self.number:  # those who were there then are missed later
                self._note_most()
            return False
        self.number = number
        self._note_most()
        assert [id(outcome) for outcome in done] == [id(strategy.outcome)]
        self.check()
        return True

    def _note_most(self) -> None:
        asked = sum(e.asked for e in self.wire.exchanges if e.work != EVALUATE)
        self.most = max(self.most, asked)

    def check(self) -> None:
        """What must hold after a round that counts."""
        outcome = self.strategy.outcome
        assert np.isfinite(outcome.models).all()
        assert outcome.models.shape == (len(outcome.models), D)
        reported = Counter(reason for _, reason in outcome.rejected)
        reported.pop(ABSENT, None)
        *_, last = exchanges = [e for e in self.wire.exchanges if e.work != EVALUATE]
        if not outcome.repeats:
            expected = +sum((e.dropped for e in exchanges), Counter())
            assert reported == expected, (reported - expected, expected - reported)
            self._check_sums(reported)
        # No reply is used that is not among those that were sent and are sound.
        assert outcome.replies is not None
        node_of = self.strategy.clients.node_of
        used = {node_of[c]: v for c, v in zip(
            outcome.replies.clients.tolist(), outcome.replies.vectors, strict=True
        )}  # fmt: skip
        assert used.keys() == last.usable.keys()
        assert all(np.array_equal(vector, last.usable[node]) for node, vector in used.items())
        self._check_evaluation()

    def _check_sums(self, reported: Counter[str]) -> None:
        outcome = self.strategy.outcome
        assert outcome.replies is not None
        answered = sum(n for reason, n in reported.items() if reason not in BESIDES)
        assert outcome.asked == len(outcome.replies) + outcome.introduced + answered

    def _check_evaluation(self) -> None:
        outcome = self.strategy.outcome
        measured = [e for e in self.wire.exchanges if e.work == EVALUATE]
        if not measured or not outcome.evaluations_asked:
            return
        reported = Counter(reason for _, reason in outcome.evaluations_rejected)
        assert reported == +measured[-1].dropped
        assert len(outcome.evaluations) == len(measured[-1].usable)
        for found in outcome.evaluations.values():
            assert all(np.isfinite(value) for value in found.values())

    def _check_refusal(self) -> None:
        """A round is refused only where at least half did not answer."""
        strategy, last = self.strategy, self.wire.exchanges[-1]
        if strategy.sampling < 1 or last.work == EVALUATE or (self.number == 0 and not last.usable):
            return
        assert last.answered < max(1, strategy.quorum * max(last.asked, self.most))

    def resumed(self) -> "Federation":
        """Another server that goes on from what this one would have on the disk."""
        arrays: dict[str, Any] = {}
        state = taken_apart(self.strategy.state, "state", arrays)
        content = b"".join(bytes(part) for part in sealed(arrays, {"state": state}))
        tensors, about = unsealed(content)
        other = Federation(self.settings.overrides)
        strategy = other.strategy
        strategy.resume(
            put_together(type(strategy.state), about["state"], tensors),
            dict(self.strategy.clients.joined),
            strategy.buffers,
            self.strategy.most,
        )
        other.number, other.most = self.number, self.most
        other.wire.points = self.wire.points
        other.wire.here = set(self.wire.here)
        other.wire.order = self.wire.order + 1
        return other
