"""One reply whose upload never ends, or is no reply at all, holds up no other."""

from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import PullObjectResponse
from flwr.proto.runtime_pb2 import PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

from tagma.server.transport.reply_fetcher import Fetcher
from tagma.server.transport.superlink_calls import Link


class Client:
    """What Flower's grid asks of the SuperLink; replies from nodes that behave in many ways."""

    def __init__(self, ways):
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.ways, self.objects, self.replies = list(ways), {}, {}
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
            message_object_trees=[get_object_tree(reply) for _, reply in found],
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


def fetching(*ways, largest=10_000):
    client = Client(ways)
    grid = HttpGrid(token="token")
    grid._client = client
    grid.set_run(Run.create_empty(run_id=1))
    fetcher = Fetcher(grid, Link(grid), largest)

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


def test_what_is_too_large_is_not_fetched_to_its_end():
    client, look = fetching("well", largest=200)
    assert "it is too large" in look()[0].error.reason
    assert len(client.pulled) < len(client.objects)


def test_what_nobody_asked_for_is_not_fetched():
    client, look = fetching("well", "unasked")
    assert sorted(look(client.names[:1])) == [0]
    assert client.confirmed == 1
