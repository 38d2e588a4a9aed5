"""A Grid that collects replies by a short, growing wait, and asks again where none comes.

Flower's own grid for deployments looks for replies every 3 s. This one looks after 50 ms, then
waits 20 % longer each time, up to a quarter of a second: a reply waits a fraction of the time its
round has taken so far, and a slow round costs the SuperLink four requests a second.

Flower hands over a message once. If the SuperLink dies, or a connection breaks, between its note
that the message is delivered and the delivery, the message or its reply is lost, and the round
would wait for it until its time is over. So a message is sent again, once and then once after every
outage of the SuperLink, when

- it has had no answer for three times as long as its node has ever taken for one of its kind (a
  node that has answered none: as the others typically take), and at least 20 s; as long as nobody
  has answered one of its kind, only after an outage;
- Flower says that it or its reply is lost.

The first answer counts. A client answers the same question alike, so it does not matter which; a
node that is merely slow works twice.

After the SuperLink was away, it takes nodes for dead until they have told it that they live, which
they do every half minute. So for a minute that is not believed.
"""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median

import httpx
from flwr.app import ConfigRecord, Message
from flwr.serverapp import Grid

from tagma.flower_private import ErrorCode, answer_to
from tagma.grid_wrapper import PassingGrid
from tagma.message_limits import Intake, Limits
from tagma.server.transport.flower_superlink import ObjectPushError
from tagma.server.transport.reply_fetcher import Fetcher
from tagma.server.transport.superlink_calls import Link
from tagma.wire import CONFIG, WORK

_SHORTEST, _LONGEST, _GROWTH = 0.05, 0.25, 1.2
_SILENCE, _SLOWER = 20.0, 3.0
"""Seconds without an answer, and times the usual ones, after which a message is sent again."""
_SOON = 5.0
"""Seconds after which one that is known to be lost is."""
_CHECK_IN = 60.0
"""Seconds within which nodes tell a SuperLink that was away that they live."""
_LOST = {ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE}

_log = logging.getLogger("tagma")


@dataclass
class _Question:
    """A message that is not answered yet."""

    message: Message
    names: set[str]
    """Those under which it is on its way."""
    sent: float
    """When it was last sent, on the monotonic clock."""
    sent_again: bool = False

    @property
    def kind(self) -> str:
        config = self.message.content.get(CONFIG)
        named = config.get(WORK) if isinstance(config, ConfigRecord) else None
        return str(named or self.message.metadata.message_type)  # other apps have no such name

    @property
    def node(self) -> int:
        return self.message.metadata.dst_node_id


class PatientGrid(PassingGrid):
    """Another Grid with `send_and_receive` made of its push and pull.

    `lossy` tells whether it may lose messages, as all do that have a network in them. Replies
    beyond `limits` are errors.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        lossy: bool,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(grid)
        self._lossy = lossy
        self.intake = Intake(limits)
        self._sleep = sleep
        self._link = Link(grid, sleep)
        self._took: dict[str, dict[int, float]] = defaultdict(dict)
        """By kind of work and node, the longest time an answer took."""
        self._present: set[int] = set()

    def get_node_ids(self) -> set[int]:
        """The nodes that are there; those that were are waited for while they check in again."""
        present = set(self._link.call(self._grid.get_node_ids))
        give_up = self._link.away_until + _CHECK_IN
        while not present >= self._present and time.monotonic() < give_up:
            self._sleep(1.0)
            present = set(self._link.call(self._grid.get_node_ids))
        self._present = present
        return present

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Push the messages, then pull replies until all are in or the time is over."""
        started = time.monotonic()
        deadline = math.inf if timeout is None else started + timeout
        messages = list(messages)
        waiting = {
            name: _Question(message, {name}, started)
            for name, message in zip(self._push(messages), messages, strict=True)
            if name
        }
        fetcher = Fetcher(self._grid, self._link, self.intake.limits)
        replies: list[Message] = []
        pause = _SHORTEST
        while waiting and time.monotonic() < deadline:
            self._sleep(pause)
            pause = min(_GROWTH * pause, _LONGEST)
            first_of = {name: first for first in waiting for name in waiting[first].names}
            for reply in map(self.intake.take, fetcher.look(list(first_of))):
                name = reply.metadata.reply_to_message_id
                first = first_of.get(name)
                question = waiting.get(first or "")
                if first is None or question is None:
                    continue
                if not self._answers(reply, question):
                    question.names.discard(name)
                    continue
                if name == first and not reply.has_error():
                    self._note_time(question, started)
                del waiting[first]
                answer_to(reply, first)
                replies.append(reply)
            if self._lossy:
                self._ask_again(waiting.values(), started, deadline)
        return replies

    def _push(self, messages: list[Message]) -> list[str]:
        """Push messages, each of which is stored once however often; "" for those refused.

        What the SuperLink cannot store, it may be able to without the one that is to blame.
        """
        push = self._grid.push_messages
        try:
            names = list(self._link.call(partial(push, messages)))
        except (httpx.HTTPError, ObjectPushError):
            names = [self._push_once(message) for message in messages]
        # A push that is too large gets no names at all.
        return [name or "" for name in names or [""] * len(messages)]

    def _push_once(self, message: Message) -> str:
        with self._link.tolerated():
            for name in self._grid.push_messages([message]):
                return name or ""
        return ""

    def _note_time(self, question: _Question, started: float) -> None:
        took = self._took[question.kind]
        seconds = time.monotonic() - max(started, self._link.away_until)
        took[question.node] = max(took.get(question.node, 0.0), seconds)

    def _answers(self, reply: Message, question: _Question) -> bool:
        """Whether a reply is an answer; some tell only that something was lost on its way."""
        if not self._lossy or not reply.has_error():
            return True
        if reply.error.code == ErrorCode.NODE_UNAVAILABLE:
            return time.monotonic() >= self._link.away_until + _CHECK_IN
        return reply.error.code not in _LOST or not self._may_ask_again(question)

    def _may_ask_again(self, question: _Question) -> bool:
        return not question.sent_again or question.sent < self._link.away_until

    def _ask_again(self, waiting: Iterable[_Question], started: float, deadline: float) -> None:
        now = time.monotonic()
        due = [q for q in waiting if self._due(q, started) <= now < deadline - self._usual(q)]
        if due:
            _log.warning("asking again: %d messages without an answer", len(due))
        for question in due:
            question.names |= {self._push_once(_copy(question.message, deadline - now))} - {""}
            question.sent = time.monotonic()
            question.sent_again = True

    def _due(self, question: _Question, started: float) -> float:
        """When a message is sent again."""
        if not question.names:
            return question.sent + _SOON
        away = self._link.away_until
        if not self._may_ask_again(question) or not (self._took[question.kind] or away >= started):
            return math.inf
        return max(question.sent, away) + max(_SILENCE, _SLOWER * self._usual(question))

    def _usual(self, question: _Question) -> float:
        """The seconds that an answer of its node takes, as far as that is known."""
        took = self._took[question.kind]
        return took.get(question.node, median(took.values()) if took else 0.0)


def _copy(message: Message, seconds: float) -> Message:
    """The same message under another name; nobody begins to work on it after these seconds."""
    metadata = message.metadata
    return Message(
        message.content, metadata.dst_node_id, metadata.message_type,
        ttl=min(seconds, metadata.ttl),
    )  # fmt: skip
