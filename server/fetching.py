"""Replies fetched side by side, so that one whose upload never ends holds up no other.

A node announces its reply first and uploads it afterwards. Flower's grid fetches the replies that
are announced one after the other and hands them over together, waiting for each upload up to two
hours: a single node that announces and does not upload, because it lies or its connection broke,
would stop the whole round; one that uploads what is no reply would end the run. So here Flower
fetches every reply on a thread of its own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import httpx
from flwr.app import Error, Message, Metadata
from flwr.app.message import make_message
from flwr.common.constant import ErrorCode
from flwr.common.serde import message_from_proto
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PullAppMessagesResponse
from flwr.serverapp import Grid
from flwr.supercore.run import RunNotRunningException
from flwr.superlink.grid.http_grid import HttpGrid

_Fetch = Callable[[], Iterable[Message]]


class Fetcher:
    """Looks for the replies to some messages, and hands over those that have been fetched."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._fetched: SimpleQueue[tuple[str, list[Message]]] = SimpleQueue()
        self._fetching: set[str] = set()

    def look(self, names: Collection[str]) -> None:
        """Begin to fetch what there is for the messages by these names."""
        names = [name for name in names if name not in self._fetching]
        if not isinstance(self._grid, HttpGrid):
            self._fetched.put(("", list(self._grid.pull_messages(names))))
        elif names:
            for metadata, fetch in _announced(self._grid, names):
                self._fetching.add(metadata.reply_to_message_id)
                Thread(target=self._fetch, args=(metadata, fetch), daemon=True).start()

    def arrived(self) -> list[Message]:
        """The replies that have come since the last call."""
        replies: list[Message] = []
        while True:
            try:
                name, found = self._fetched.get_nowait()
            except Empty:
                return replies
            self._fetching.discard(name)
            replies += found

    def _fetch(self, metadata: Metadata, fetch: _Fetch) -> None:
        found: list[Message] = []
        try:
            found = list(fetch())
        except (httpx.HTTPError, RunNotRunningException):
            pass  # it is lost, as if it had never been announced
        except Exception as problem:  # whatever a node uploads, it is its own failure
            error = Error(ErrorCode.UNKNOWN, f"unreadable reply: {problem}")
            found = [make_message(metadata=metadata, error=error)]
        self._fetched.put((metadata.reply_to_message_id, found))


def _announced(grid: HttpGrid, names: Collection[str]) -> Iterator[tuple[Metadata, _Fetch]]:
    """What is known of every reply that is announced, and how Flower fetches it."""
    client = grid._runtime_client
    found = client.PullMessages(PullAppMessagesRequest(message_ids=names))
    for reply, parts in zip(found.messages_list, found.message_object_trees, strict=True):
        answer = PullAppMessagesResponse(messages_list=[reply], message_object_trees=[parts])
        alone = copy(grid)
        alone._client = _Answered(client, answer)  # type: ignore[assignment]
        metadata = message_from_proto(reply).metadata
        yield metadata, partial(HttpGrid.pull_messages, alone, [metadata.reply_to_message_id])


class _Answered:
    """Flower's client, with the answer to the question which replies there are."""

    def __init__(self, client: Any, answer: PullAppMessagesResponse) -> None:
        self._client = client
        self._answer = answer

    def PullMessages(self, request: PullAppMessagesRequest) -> PullAppMessagesResponse:  # noqa: N802
        return self._answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
