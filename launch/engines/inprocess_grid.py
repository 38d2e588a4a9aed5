"""A Flower Grid that calls the ClientApp in the same process.

It runs the unmodified strategy and ClientApp. Each client gets its own copies of the records of a
message, as it would over a network, so that no client can change what another one sees: bytes are
immutable, so copying what is around them is enough.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count

from flwr.app import Context, Error, Message, RecordDict
from flwr.serverapp import Grid

from tagma.flower_private import (
    ErrorCode,
    Run,
    answer_from,
    answer_to,
    be_server,
    name_message,
    own_copy,
)
from tagma.message_limits import Intake, Limits

_SERVER_NODE = 1
_FIRST_CLIENT_NODE = 2

Client = Callable[[Message, Context], Message]
ConfigValue = bool | float | int | str


class InProcessGrid(Grid):
    """A grid of `clients` clients that take turns; one such run per process at a time.

    `overrides` are those of our own apps; `run_config` is what any app's own settings are. Replies
    beyond `limits` are errors.
    """

    immediate = True

    def __init__(
        self,
        client: Client,
        clients: int,
        overrides: str = "",
        *,
        run_config: Mapping[str, ConfigValue] | None = None,
        limits: Limits | None = None,
    ) -> None:
        be_server(_SERVER_NODE)
        self.intake = Intake(limits)
        self._client = client
        self._run = Run.create_empty(run_id=1)
        self._ids = count(1)
        self._replies: dict[str, Message] = {}
        self._contexts = {
            _FIRST_CLIENT_NODE + client: Context(
                run_id=1,
                node_id=_FIRST_CLIENT_NODE + client,
                node_config={"partition-id": client, "num-partitions": clients},
                state=RecordDict(),
                run_config={"overrides": overrides, **(run_config or {})},
            )
            for client in range(clients)
        }

    def set_run(self, run: Run) -> None:
        """Set the run's details."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run's details."""
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Create a message to a client."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """All clients; they are always there."""
        return list(self._contexts)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Let each client answer in turn; there is nothing to wait for."""
        return [self._exchange(message) for message in messages]

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Let each client answer, and keep the replies until they are pulled."""
        replies = [self._exchange(message) for message in messages]
        self._replies |= {reply.metadata.reply_to_message_id: reply for reply in replies}
        return [reply.metadata.reply_to_message_id for reply in replies]

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """The replies to the given messages."""
        return [self._replies.pop(name) for name in message_ids if name in self._replies]

    def _exchange(self, message: Message) -> Message:
        name_message(message, str(next(self._ids)))
        try:
            reply = self._client(own_copy(message), self._contexts[message.metadata.dst_node_id])
            if not isinstance(reply, Message):
                raise TypeError(f"the client returned {type(reply).__name__} instead of a Message")
            # As over a network, who answered and what is not for the client to say.
            answer_from(reply, message.metadata.dst_node_id)
            answer_to(reply, message.metadata.message_id)
            reply = self.intake.take(reply)
        except (Exception, SystemExit) as problem:  # a client may fail in any way
            reply = Message(_error(problem), reply_to=message)
        return reply


def _error(problem: BaseException) -> Error:
    reason = type(problem).__name__
    with suppress(Exception):
        reason = f"{reason}: {problem}"
    return Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason)
