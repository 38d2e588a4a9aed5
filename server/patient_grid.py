"""A Grid that collects replies by a short, growing wait, and asks again where none comes.

Flower's own grid for deployments looks for replies every 3 s. This one looks after 50 ms, then
waits 20 % longer each time, up to a quarter of a second: a reply waits a fraction of the time its
round has taken so far, and a slow round costs the SuperLink four requests a second.

Flower hands over a message once. If the SuperLink dies, or a connection breaks, between its note
that the message is delivered and the delivery, the message or its reply is lost, and the round
would wait for it until its time is over. So a message is sent again

- when it has had no answer for three times as long as the slowest of its kind in this run, at least
  20 s, then twice as long, and so on;
- as long as none of its kind was answered, only if the SuperLink was away in the meantime;
- when Flower says that it or its reply is lost.

The first answer counts. A client answers the same question alike, so it does not matter which; a
node that is merely slow works twice, once.

After the SuperLink was away, it takes nodes for dead until they have told it that they live, which
they do every half minute. So for a minute that is not believed.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from flwr.app import Message
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from server.fetching import Fetcher
from server.link import Link
from tagma.passing_grid import PassingGrid

_SHORTEST, _LONGEST, _GROWTH = 0.05, 0.25, 1.2
_SILENCE, _SLOWER = 20.0, 3.0
"""Seconds without an answer, and times the slowest one, after which a message is sent again."""
_LOST_AGAIN = 5.0
"""Seconds after which one that is known to be lost is."""
_CHECK_IN = 60.0
"""Seconds within which nodes tell a SuperLink that was away that they live."""
_LOST = {ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE}

_log = logging.getLogger("tagma")


@dataclass
class _Question:
    """A message that is not answered yet, and the names under which it is on its way."""

    message: Message
    sent: float
    """When it was last sent, on the monotonic clock."""
    names: set[str]
    patience: int = 1


class PatientGrid(PassingGrid):
    """Another Grid with `send_and_receive` made of its push and pull.

    `lossy` tells whether it may lose messages, as all do that have a network in them.
    """

    def __init__(
        self, grid: Grid, *, lossy: bool, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        super().__init__(grid)
        self._lossy = lossy
        self._sleep = sleep
        self._link = Link(grid, sleep)
        self._slowest: dict[str, float] = {}
        self._present: set[int] = set()

    def get_node_ids(self) -> set[int]:
        """The nodes that are there; those that were are waited for while they check in again."""
        while True:
            present = set(self._link.call(self._grid.get_node_ids))
            if present >= self._present or not self._checking_in():
                self._present = present
                return present
            self._sleep(1.0)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Push the messages, then pull replies until all are in or the time is over."""
        started = time.monotonic()
        deadline = math.inf if timeout is None else started + timeout
        messages = list(messages)
        waiting = {
            name: _Question(message, started, {name})
            for name, message in zip(self._push(messages, deadline), messages, strict=True)
            if name
        }
        fetcher = Fetcher(self._grid)
        replies: list[Message] = []
        pause = _SHORTEST
        while waiting and time.monotonic() < deadline:
            self._sleep(pause)
            pause = min(_GROWTH * pause, _LONGEST)
            first_of = {name: first for first in waiting for name in waiting[first].names}
            self._link.call(partial(fetcher.look, list(first_of)), deadline)
            for reply in fetcher.arrived():
                name = reply.metadata.reply_to_message_id
                first = first_of.get(name)
                if first not in waiting:
                    continue
                if not self._final(reply):
                    waiting[first].names.discard(name)
                    continue
                if name == first and not reply.has_error():
                    self._note_slowest(waiting[first].message, started)
                del waiting[first]
                reply.metadata.__dict__["_reply_to_message_id"] = first
                replies.append(reply)
            if self._lossy:
                self._ask_again(list(waiting.values()), started, deadline)
        return replies

    def _push(self, messages: list[Message], deadline: float) -> list[str]:
        """Push messages, each of which is stored once however often; "" for those refused."""
        names = list(self._link.call(partial(self._grid.push_messages, messages), deadline))
        # A push that is too large gets no names at all.
        return [name or "" for name in names or [""] * len(messages)]

    def _note_slowest(self, message: Message, started: float) -> None:
        kind = message.metadata.message_type
        seconds = time.monotonic() - max(started, self._link.away_until)
        self._slowest[kind] = max(self._slowest.get(kind, 0.0), seconds)

    def _final(self, reply: Message) -> bool:
        """Whether a reply is an answer; some tell only that something was lost on its way."""
        if not self._lossy or not reply.has_error():
            return True
        if reply.error.code == ErrorCode.NODE_UNAVAILABLE:
            return not self._checking_in()
        return reply.error.code not in _LOST

    def _checking_in(self) -> bool:
        return time.monotonic() < self._link.away_until + _CHECK_IN

    def _ask_again(self, waiting: list[_Question], started: float, deadline: float) -> None:
        now = time.monotonic()
        due = [question for question in waiting if now >= self._due(question, started)]
        if not due:
            return
        number = due[0].message.metadata.group_id
        _log.warning("round %s: asking again, %d without an answer", number, len(due))
        copies = [_copy(question.message) for question in due]
        for question, name in zip(due, self._push(copies, deadline), strict=True):
            if question.names:
                question.patience *= 2
            question.names |= {name} - {""}
            question.sent = time.monotonic()

    def _due(self, question: _Question, started: float) -> float:
        """When a message is sent again."""
        if not question.names:
            return question.sent + _LOST_AGAIN
        away = self._link.away_until
        slowest = self._slowest.get(question.message.metadata.message_type)
        if slowest is None and away < started:
            return math.inf
        silence = max(_SILENCE, _SLOWER * (slowest or 0.0))
        return max(question.sent, away) + silence * question.patience


def _copy(message: Message) -> Message:
    """The same message under another name."""
    metadata = message.metadata
    return Message(
        message.content, metadata.dst_node_id, metadata.message_type, group_id=metadata.group_id
    )
