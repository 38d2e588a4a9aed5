"""One reply whose upload never ends, or is no reply at all, holds up no other."""

import json
from dataclasses import replace
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.app.message.arraychunk import ArrayChunk
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import ObjectTree, PullObjectRequest, PullObjectResponse
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

from tagma.layout import Layout
from tagma.message_limits import BEYOND_LIMITS, BeyondLimitsError, Limits
from tagma.server.transport.reply_fetcher import Fetcher
from tagma.server.transport.superlink_calls import Link

LIMITS = Limits.of(Layout.of({"b": np.zeros(9)}))


class Client:
    """What Flower's grid asks of the SuperLink; replies from nodes that behave in many ways."""

    def __init__(self, ways):
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.ways, self.objects, self.replies, self.trees = list(ways), {}, {}, {}
        self.names, self.pulled, self.confirmed = [], [], 0
        for node in range(len(ways)):
            question = Message(RecordDict(), node, "train")
            question.metadata.__dict__["_message_id"] = question.object_id
            content = RecordDict(
                {"a": ConfigRecord({"node": node}), "b": ArrayRecord([np.full(9, node)])}
            )
            reply = Message(content, reply_to=question)
            name = question.object_id
            if ways[node] == "answers another":
                reply.metadata.__dict__["_reply_to_message_id"] = self.names[0]
            reply.metadata.__dict__["_message_id"] = reply.object_id
            for part, its in get_all_nested_objects(reply).items():
                self.objects[part] = node, its
            self.replies[name] = reply
            self.trees[name] = get_object_tree(reply)
            self.names.append(name)

    def PullMessages(self, request):  # noqa: N802
        asked = list(request.message_ids)
        if "unasked" in self.ways:
            asked.append(self.names[self.ways.index("unasked")])
        found = [(name, self.replies.pop(name)) for name in asked if name in self.replies]
        announced = []
        for name, reply in found:
            proto = message_to_proto(remove_content_from_message(reply))
            proto.metadata.reply_to_message_id = name
            announced.append(proto)
        return PullAppMessagesResponse(
            messages_list=announced,
            message_object_trees=[self.trees[name] for name, _ in found],
        )

    def PullObject(self, request):  # noqa: N802
        node, part = self.objects[request.object_id]
        way = self.ways[node]
        here = way != "never" and not (way == "late" and isinstance(part, ArrayRecord))
        if way == "breaks":
            raise httpx.ReadError("broken")
        if way == "refused":
            response = httpx.Response(404, request=httpx.Request("POST", "https://superlink/"))
            raise httpx.HTTPStatusError("no", request=response.request, response=response)
        if here:
            self.pulled.append(request.object_id)
        content = b"no object" if way == "garbage" else part.deflate()
        return PullObjectResponse(
            object_found=True, object_available=here, object_content=content if here else b""
        )

    def ConfirmMessageReceived(self, request):  # noqa: N802
        self.confirmed += 1
        return SimpleNamespace()


def fetching(*ways, limits=LIMITS):
    client = Client(ways)
    grid = HttpGrid(token="token")
    grid._client = client
    grid.set_run(Run.create_empty(run_id=1))
    fetcher = Fetcher(grid, Link(grid), limits)

    def look(names=client.names):
        replies = fetcher.look(names)
        return {client.names.index(r.metadata.reply_to_message_id): r for r in replies}

    return client, look


def test_replies_come_whole():
    client, look = fetching("well", "well", "well")
    replies = look()
    assert sorted(replies) == [0, 1, 2]
    assert all(reply.content["a"]["node"] == node for node, reply in replies.items())
    assert client.confirmed == 3
    assert look() == {}


def test_an_upload_that_never_ends_holds_up_nobody_else():
    client, look = fetching("never", "well", "well")
    assert sorted(look()) == [1, 2]
    assert look() == look() == {}
    assert client.confirmed == 2


def test_what_is_there_of_a_late_upload_is_not_fetched_again():
    client, look = fetching("late")
    assert look() == look() == {}
    client.ways[0] = "well"
    replies = look()
    assert replies[0].content["a"]["node"] == 0
    assert len(client.pulled) == len(set(client.pulled)) == len(client.objects)


def test_a_connection_that_breaks_costs_time_and_nothing_else():
    client, look = fetching("breaks", "well")
    assert sorted(look()) == [1]
    client.ways[0] = "well"
    assert sorted(look()) == [0]


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("garbage", "unreadable reply"),
        ("refused", "unreadable reply: no"),
        ("answers another", "it says that it answers another message"),
    ],
)
def test_what_cannot_be_read_is_a_failure_of_its_node(way, reason):
    _, look = fetching("well", way)
    replies = look()
    assert sorted(replies) == [0, 1]
    assert reason in replies[1].error.reason
    assert replies[0].content["a"]["node"] == 0


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (replace(LIMITS, array_bytes=100), "more than 100 bytes of arrays"),
        (replace(LIMITS, other_bytes=200), "more than 200 bytes beside the arrays"),
    ],
)
def test_what_is_too_large_is_not_fetched_to_its_end_and_forgotten(limits, said):
    client, look = fetching("well", limits=limits)
    error = look()[0].error
    assert error.code == BEYOND_LIMITS
    assert said in error.reason
    assert len(client.pulled) < len(client.objects)
    assert client.confirmed == 1  # the SuperLink deletes it
    assert look() == {}


def test_a_million_parts_are_not_asked_for():
    client, look = fetching("well")
    tree = ObjectTree(object_id="0" * 64)
    tree.children.extend([ObjectTree(object_id="1" * 64)] * 1_000_000)
    client.trees[client.names[0]] = tree
    error = look()[0].error
    assert error.code == BEYOND_LIMITS
    assert "parts or more" in error.reason
    assert client.pulled == []


def test_an_array_that_names_one_part_many_times_is_not_put_together():
    """400 kB would become 8 GB."""
    client, look = fetching("well")
    chunk = ArrayChunk(bytes(400_000))
    about = {"dtype": "float64", "shape": [1], "stype": "numpy.ndarray"}
    body = json.dumps(about | {"arraychunk_ids": [0] * 20_000}).encode()
    bomb = f"Array {chunk.object_id} {len(body)}".encode() + b"\x00" + body
    (array,) = [name for name, (_, its) in client.objects.items() if isinstance(its, Array)]
    (part,) = [n for n, (_, its) in client.objects.items() if isinstance(its, ArrayChunk)]
    tree = client.trees[client.names[0]]
    for node in iterate_object_tree(tree):
        if node.object_id == part:
            node.object_id = chunk.object_id
    client.objects[chunk.object_id] = 0, chunk
    client.objects[array] = 0, SimpleNamespace(deflate=lambda: bomb)
    error = look()[0].error
    assert error.code == BEYOND_LIMITS
    assert error.reason.startswith("too large: 80003")


def test_an_answer_that_is_longer_than_a_reply_can_be_is_not_read():
    """A part comes in one piece, of up to 2 GB."""
    read = []

    class Body(httpx.SyncByteStream):
        def __iter__(self):
            read.append(True)
            yield b""

    def superlink(request):
        length = str(2**31) if request.url.path.endswith("/pull-object") else "0"
        return httpx.Response(200, headers={"content-length": length}, stream=Body())

    grid = HttpGrid(token="token", insecure=True)
    grid._runtime_client._client = httpx.Client(transport=httpx.MockTransport(superlink))
    for _ in range(2):  # one of each exchange
        Fetcher(grid, Link(grid), LIMITS)
    assert len(grid._runtime_client._client.event_hooks["response"]) == 1
    with pytest.raises(BeyondLimitsError, match="a part of 2147483648 bytes"):
        grid._runtime_client.PullObject(PullObjectRequest())
    assert not read
    grid._runtime_client.PullMessages(PullAppMessagesRequest())
    assert read


def test_what_nobody_asked_for_is_not_fetched():
    client, look = fetching("well", "unasked")
    assert sorted(look(client.names[:1])) == [0]
    assert client.confirmed == 1
