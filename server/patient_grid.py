"""A Grid that collects replies by a short, growing wait.

Flower's own grid for deployments looks for replies every 3 s. This one looks after 50 ms, then
waits 20 % longer each time, up to a quarter of a second: a reply waits a fraction of the time its
round has taken so far, and a slow round costs the SuperLink four requests a second.
"""

import time
from collections.abc import Callable, Iterable

from flwr.app import Message, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run

_SHORTEST, _LONGEST, _GROWTH = 0.05, 0.25, 1.2


class PatientGrid(Grid):
    """Another Grid with `send_and_receive` made of its push and pull."""

    def __init__(self, grid: Grid, sleep: Callable[[float], None] = time.sleep) -> None:
        self._grid = grid
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

    # The rest passes through.

    def set_run(self, run: Run) -> None:
        """Set the run of the real Grid."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run of the real Grid."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Create a message on the real Grid."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """The nodes of the real Grid."""
        return self._grid.get_node_ids()

    def get_nodes(self) -> Iterable[NodeInfo]:
        """The nodes of the real Grid, with their details."""
        return self._grid.get_nodes()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Push on the real Grid."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Pull on the real Grid."""
        return self._grid.pull_messages(message_ids)
