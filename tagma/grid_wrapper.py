"""A Flower Grid around another one, which passes everything on; wrappers change what they need."""

from collections.abc import Iterable

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from tagma.flower_private import NodeInfo, Run


class PassingGrid(Grid):
    """The base of Grids that wrap another."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    @property
    def immediate(self) -> bool:
        """Whether all clients answer at once, or never will: there is nothing to wait for."""
        return bool(getattr(self._grid, "immediate", False))

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

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Exchange messages on the real Grid."""
        return self._grid.send_and_receive(messages, timeout=timeout)
