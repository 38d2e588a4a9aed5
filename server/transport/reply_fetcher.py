"""Replies fetched as far as they are uploaded, so that one that is not holds up no other.

A node announces its reply first and uploads it afterwards. Flower's grid fetches the replies that
are announced one after the other and hands them over together, waiting for each upload up to two
hours: a single node that announces and does not upload, because it lies or its connection broke,
would stop the whole round; one that uploads what is no reply would end the run. Here Flower fetches
every reply by itself, and stops where it would have to wait: what it has got by then is kept, and
the rest is asked for at the next look.

A reply that is too large is not fetched to its end, and the SuperLink is told to forget it. Large
in any way: many parts, which are announced; many bytes, of arrays or beside them; a part that is
larger than a whole reply, whose download does not begin; and arrays that are said to consist of the
same part again and again, so that little was uploaded and much would be made of it.
"""

import json
import time
from collections.abc import Collection
from copy import copy
from itertools import islice
from typing import Any

import httpx
from flwr.app import Array, Error, Message, Metadata
from flwr.serverapp import Grid

from tagma.flower_private import ErrorCode
from tagma.message_limits import BEYOND_LIMITS, BeyondLimitsError, Limits
from tagma.server.transport.flower_superlink import (
    ConfirmMessageReceivedRequest,
    HttpGrid,
    ObjectTree,
    ProtoMessage,
    PullAppMessagesRequest,
    PullAppMessagesResponse,
    PullObjectRequest,
    PullObjectResponse,
    RunNotRunningException,
    get_object_body,
    get_object_children_ids_from_object_content,
    iterate_object_tree,
    make_message,
    message_from_proto,
)
from tagma.server.transport.superlink_calls import Link, passing

_TURN = 2.0
"""Seconds after which the next reply has its turn."""
_FEW, _PART = 64, 2**20
"""Parts beside those of arrays, and bytes of an array for which there may be one more."""
_AROUND = 2**16
"""Bytes of an answer around a part."""


class _LaterError(Exception):
    """The rest of a reply is not there yet, or has to wait for its turn."""


class Fetcher:
    """Fetches the replies to the messages of one exchange."""

    def __init__(self, grid: Grid, link: Link, limits: Limits) -> None:
        self._grid = grid
        self._link = link
        self._limits = limits
        if isinstance(grid, HttpGrid):
            _LongestAnswer.of(grid._runtime_client, limits.total + _AROUND)
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
        new = (_Reply(grid, announced, parts, self._limits) for announced, parts in pairs)
        # Nodes can send the server messages of their own; nobody has asked for them.
        return {reply.name: reply for reply in new if reply.name in names}


class _LongestAnswer:
    """Lets no answer of a SuperLink in that is longer than a part can be, before it is read."""

    def __init__(self, most: float) -> None:
        self.most = most

    @classmethod
    def of(cls, client: object, most: float) -> None:
        """Have Flower's client of a SuperLink obey it."""
        http = getattr(client, "_client", None)
        if isinstance(http, httpx.Client):
            hooks = http.event_hooks
            others = [hook for hook in hooks["response"] if not isinstance(hook, cls)]
            http.event_hooks = {**hooks, "response": [*others, cls(most)]}

    def __call__(self, response: httpx.Response) -> None:
        length = int(response.headers.get("content-length", 0))
        if length > self.most and response.request.url.path.endswith("/pull-object"):
            raise BeyondLimitsError(f"a part of {length} bytes")


class _Reply:
    """A reply that is announced, and the client by which Flower's grid fetches it.

    As a client it knows which reply there is, and neither asks twice for a part nor waits for one.
    """

    def __init__(
        self, grid: HttpGrid, announced: ProtoMessage, parts: ObjectTree, limits: Limits
    ) -> None:
        self._client = grid._runtime_client
        self._metadata: Metadata = message_from_proto(announced).metadata
        self._limits = limits
        most = _FEW + 2 * limits.arrays + limits.array_bytes / _PART
        many = sum(1 for _ in islice(iterate_object_tree(parts), int(min(most, 2**31)) + 1))
        self._excess = f"{many} parts or more" if many > most else ""
        if self._excess:
            parts = ObjectTree()
        # What an error says is a part, too; here it would come beside the limits.
        self._only = PullAppMessagesResponse(
            messages_list=[ProtoMessage(metadata=announced.metadata)], message_object_trees=[parts]
        )
        self._grid = copy(grid)
        self._grid._client = self  # type: ignore[assignment]
        self._array_bytes = self._other_bytes = 0
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
            if self._excess:
                raise BeyondLimitsError(self._excess)
            (message,) = self._grid.pull_messages([self.name])
            if message.metadata.reply_to_message_id != self.name:
                raise ValueError("it says that it answers another message")
            return message
        except _LaterError:
            return None
        except RunNotRunningException:
            raise
        except BeyondLimitsError as problem:
            self._parts.clear()
            self._forget()
            return self._error(BEYOND_LIMITS, f"too large: {problem}")
        except Exception as problem:  # whatever a node uploads, it is its own failure
            if isinstance(problem, httpx.HTTPError) and passing(problem):
                raise
            return self._error(ErrorCode.UNKNOWN, f"unreadable reply: {problem}")

    def _error(self, code: int, reason: str) -> Message:
        return make_message(metadata=self._metadata, error=Error(code, reason))

    def _forget(self) -> None:
        """Let the SuperLink delete what has been uploaded of it."""
        self._client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(
                node=self._grid.node,
                run_id=self._grid.run.run_id,
                message_object_id=self._metadata.message_id,
            )
        )

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
        self._weigh(part.object_content)
        self._parts[request.object_id] = part
        return part

    def ConfirmMessageReceived(self, request: ConfirmMessageReceivedRequest) -> Any:  # noqa: N802
        """All parts are here, and will be put together next."""
        self._weigh_arrays()
        return self._client.ConfirmMessageReceived(request)

    def _weigh(self, content: bytes) -> None:
        if content.startswith(b"ArrayChunk "):
            self._array_bytes += len(content)
        else:
            self._other_bytes += len(content)
        if self._array_bytes > self._limits.array_bytes:
            raise BeyondLimitsError(f"more than {self._limits.array_bytes} bytes of arrays")
        if self._other_bytes > self._limits.other_bytes:
            raise BeyondLimitsError(f"more than {self._limits.other_bytes} bytes beside the arrays")

    def _weigh_arrays(self) -> None:
        """What arrays become that name a part more than once."""
        whole = 0
        for part in self._parts.values():
            content = part.object_content
            if content.startswith(b"Array "):
                chunks = get_object_children_ids_from_object_content(content)
                sizes = [len(self._parts[chunk].object_content) for chunk in chunks]
                named = json.loads(get_object_body(content, Array))["arraychunk_ids"]
                whole += sum(sizes[place] for place in named)
        if whole > self._limits.array_bytes:
            raise BeyondLimitsError(f"{whole} bytes of arrays")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
