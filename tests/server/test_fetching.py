"""One reply whose upload never ends, or is no reply at all, holds up no other."""

import time
from threading import Event
from types import SimpleNamespace

import httpx
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import PullObjectResponse
from flwr.proto.runtime_pb2 import PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

from server.fetching import Fetcher


class Client:
    """What Flower's grid asks of the SuperLink; replies from nodes that behave in many ways."""

    def __init__(self, ways):
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.ended, self.asked, self.objects = Event(), [], {}
        self.replies, self.names = {}, []
        for node, way in enumerate(ways):
            question = Message(RecordDict(), node, "train", group_id="1")
            question.metadata.__dict__["_message_id"] = question.object_id
            reply = Message(RecordDict({"a": ConfigRecord({"node": node})}), reply_to=question)
            reply.metadata.__dict__["_message_id"] = reply.object_id
            for name, part in get_all_nested_objects(reply).items():
                self.objects[name] = (way, part.deflate())
            self.replies[question.object_id] = reply
            self.names.append(question.object_id)

    def PullMessages(self, request):  # noqa: N802
        self.asked.append(list(request.message_ids))
        found = [self.replies.pop(name) for name in request.message_ids if name in self.replies]
        return PullAppMessagesResponse(
            messages_list=[message_to_proto(remove_content_from_message(r)) for r in found],
            message_object_trees=[get_object_tree(reply) for reply in found],
        )

    def PullObject(self, request):  # noqa: N802
        way, content = self.objects[request.object_id]
        if way == "never":
            self.ended.wait()
        if way == "breaks":
            raise httpx.ReadError("broken")
        if way == "garbage":
            content = b"no object"
        return PullObjectResponse(object_found=True, object_available=True, object_content=content)

    def ConfirmMessageReceived(self, request):  # noqa: N802
        return SimpleNamespace()


@pytest.fixture
def fetch():
    """The replies of nodes that behave in these ways, until so many have come."""
    clients = []

    def fetch(*ways, wanted):
        client = Client(ways)
        clients.append(client)
        grid = HttpGrid(token="token")
        grid._client = client
        grid.set_run(Run.create_empty(run_id=1))
        fetcher, replies = Fetcher(grid), {}
        fetcher.look(client.names)
        deadline = time.monotonic() + 60
        while len(replies) < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            for reply in fetcher.arrived():
                replies[client.names.index(reply.metadata.reply_to_message_id)] = reply
        return client, fetcher, replies

    yield fetch
    for client in clients:
        client.ended.set()


def test_replies_come_whole(fetch):
    _, _, replies = fetch("well", "well", "well", wanted=3)
    assert {node: reply.content["a"]["node"] for node, reply in replies.items()} == {
        0: 0,
        1: 1,
        2: 2,
    }


def test_an_upload_that_never_ends_holds_up_nobody_else(fetch):
    client, fetcher, replies = fetch("never", "well", "well", wanted=2)
    assert sorted(replies) == [1, 2]
    fetcher.look(client.names)  # what is being fetched is not asked for again
    assert client.asked[1] == client.names[1:]


def test_what_cannot_be_read_is_a_failure_of_its_node(fetch):
    _, _, replies = fetch("garbage", "well", wanted=2)
    assert "unreadable reply" in replies[0].error.reason
    assert not replies[1].has_error()


def test_a_connection_that_breaks_loses_the_reply(fetch):
    client, fetcher, replies = fetch("breaks", "well", wanted=1)
    deadline = time.monotonic() + 60
    while len(client.asked[-1]) < 2:  # then it may be asked for again
        assert time.monotonic() < deadline
        assert fetcher.arrived() == []
        fetcher.look(client.names)
    assert list(replies) == [1]
