"""Flower's private grids, and the messages by which they talk to a SuperLink.

Slow to import: only a ServerApp on a SuperLink needs it.
"""

from tagma.flower_private import private_parts

with private_parts():
    from flwr.app.message import make_message  # an error in the name of a node, as Flower's own
    from flwr.common.serde import message_from_proto
    from flwr.proto.message_pb2 import (
        ConfirmMessageReceivedRequest,
        ObjectTree,
        PullObjectRequest,
        PullObjectResponse,
    )
    from flwr.proto.message_pb2 import Message as ProtoMessage
    from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PullAppMessagesResponse
    from flwr.supercore.inflatable.inflatable_object import (  # how a message is in parts
        get_object_body,
        get_object_children_ids_from_object_content,
        iterate_object_tree,
    )
    from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
    from flwr.supercore.retry import RetryInvoker  # tells of the outages that Flower sits out
    from flwr.supercore.run import RunNotRunningException
    from flwr.superlink.grid.http_grid import HttpGrid  # waits 3 s between looks, 2 h for an upload
    from flwr.superlink.grid.inmemory_grid import InMemoryGrid  # by it a simulation is recognised

__all__ = [
    "ConfirmMessageReceivedRequest", "HttpGrid", "InMemoryGrid", "ObjectPushError", "ObjectTree",
    "ProtoMessage",
    "PullAppMessagesRequest", "PullAppMessagesResponse", "PullObjectRequest", "PullObjectResponse",
    "RetryInvoker", "RunNotRunningException", "get_object_body",
    "get_object_children_ids_from_object_content", "iterate_object_tree", "make_message",
    "message_from_proto",
]  # fmt: skip
