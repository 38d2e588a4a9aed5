"""Replies fetched as far as they are uploaded, so that one that is not holds up no other.

A node announces its reply first and uploads it afterwards. Flower's grid fetches the replies that
are announced one after the other and hands them over together, waiting for each upload up to two
hours: a single node that announces and does not upload, because it lies or its connection broke,
would stop the whole round; one that uploads what is no reply would end the run. Here Flower fetches
every reply by itself, and stops where it would have to wait: what it has got by then is kept, and
the rest is asked for at the next look. A reply that is too large is not fetched to its end.
"""

import time
from collections.abc import Collection
from copy import copy
from typing import Any

import httpx
from flwr.app import Error, Message, Metadata
from flwr.serverapp import Grid

from tagma.flower_private import ErrorCode
from tagma.server.transport.flower_superlink import (
    HttpGrid,
    ObjectTree,
    ProtoMessage,
    PullAppMessagesRequest,
    PullAppMessagesResponse,
    PullObjectRequest,
    PullObjectResponse,
    RunNotRunningException,
    make_message,
    message_from_proto,
)
from tagma.server.transport.superlink_calls import Link, passing

_TURN = 2.0
"""Seconds after which the next reply has its turn."""


class _LaterError(Exception):
    """The rest of a reply is not there yet, or has to wait for its turn."""


class Fetcher:
    """Fetches the replies to the messages of one exchange, of at most `largest` bytes each."""

    def __init__(self, grid: Grid, link: Link, largest: float) -> None:
        self._grid = grid
        self._link = link
        self._largest = largest
        self._announced: dict[str, _Reply] = {}

    def look(self, names: Collection[str]) -> list[Message]:
        """The replies to the messages by these names that have come whole since the last look."""
        found: list[Message] = []
        with self._link.tolerated():
            if not isinstance(self._grid, HttpGrid):
                return list(self._grid.pull_messages(names))
            self._announced |= self._new(self._grid, set(names) - set(self._announced))
        for name in [name for name in names if name in self._announced]:
            with self._link.tolerated():
                message = self._announced[name].fetch()
                if message is not None:
                    del self._announced[name]
                    found.append(message)
        return found

    def _new(self, grid: HttpGrid, names: set[str]) -> "dict[str, _Reply]":
        if not names:
            return {}
        asked = PullAppMessagesRequest(message_ids=sorted(names))
        found = grid._runtime_client.PullMessages(asked)
        pairs = zip(found.messages_list, found.message_object_trees, strict=True)
        new = (_Reply(grid, announced, parts, self._largest) for announced, parts in pairs)
        # Nodes can send the server messages of their own; nobody has asked for them.
        return {reply.name: reply for reply in new if reply.name in names}


class _Reply:
    """A reply that is announced, and the client by which Flower's grid fetches it.

    As a client it knows which reply there is, and neither asks twice for a part nor waits for one.
    """

    def __init__(
        self, grid: HttpGrid, announced: ProtoMessage, parts: ObjectTree, largest: float
    ) -> None:
        self._client = grid._runtime_client
        self._only = PullAppMessagesResponse(
            messages_list=[announced], message_object_trees=[parts]
        )
        self._metadata: Metadata = message_from_proto(announced).metadata
        self._grid = copy(grid)
        self._grid._client = self  # type: ignore[assignment]
        self._left = largest
        self._parts: dict[str, PullObjectResponse] = {}
        self._stop = 0.0

    @property
    def name(self) -> str:
        """The name of the message that it answers."""
        return self._metadata.reply_to_message_id

    def fetch(self) -> Message | None:
        """The reply, an error if it cannot be read, or nothing if there is more to come."""
        self._stop = time.monotonic() + _TURN
        try:
            (message,) = self._grid.pull_messages([self.name])
            if message.metadata.reply_to_message_id != self.name:
                raise ValueError("it says that it answers another message")
            return message
        except _LaterError:
            return None
        except RunNotRunningException:
            raise
        except Exception as problem:  # whatever a node uploads, it is its own failure
            if isinstance(problem, httpx.HTTPError) and passing(problem):
                raise
            error = Error(ErrorCode.UNKNOWN, f"unreadable reply: {problem}")
            return make_message(metadata=self._metadata, error=error)

    def PullMessages(self, request: PullAppMessagesRequest) -> PullAppMessagesResponse:  # noqa: N802
        return self._only

    def PullObject(self, request: PullObjectRequest) -> PullObjectResponse:  # noqa: N802
        known = self._parts.get(request.object_id)
        if known is not None:
            return known
        if time.monotonic() > self._stop:
            raise _LaterError
        part = self._client.PullObject(request)
        if part.object_found and not part.object_available:
            raise _LaterError
        self._left -= len(part.object_content)
        if self._left < 0:
            raise ValueError("it is too large")
        self._parts[request.object_id] = part
        return part

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
