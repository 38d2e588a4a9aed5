"""A Grid that collects replies by a short, growing wait.

Flower's own grid for deployments looks for replies every 3 s. This one looks after 50 ms, then
waits 20 % longer each time, up to a quarter of a second: a reply waits a fraction of the time its
round has taken so far, and a slow round costs the SuperLink four requests a second.
"""

import time
from collections.abc import Callable, Iterable

from flwr.app import Message
from flwr.serverapp import Grid

from tagma.passing_grid import PassingGrid

_SHORTEST, _LONGEST, _GROWTH = 0.05, 0.25, 1.2


class PatientGrid(PassingGrid):
    """Another Grid with `send_and_receive` made of its push and pull."""

    def __init__(self, grid: Grid, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(grid)
        self._sleep = sleep

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Push the messages, then pull replies until all are in or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        waiting = {name for name in self._grid.push_messages(list(messages)) if name}
        replies: list[Message] = []
        pause = _SHORTEST
        while waiting and (deadline is None or time.monotonic() < deadline):
            self._sleep(pause)
            pause = min(_GROWTH * pause, _LONGEST)
            for reply in self._grid.pull_messages(waiting):
                replies.append(reply)
                waiting.discard(reply.metadata.reply_to_message_id)
        return replies
