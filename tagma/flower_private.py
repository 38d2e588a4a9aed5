"""What we use of Flower beyond its public packages, and the one check of its version.

Any release of Flower may change it, so it is nowhere else: here is what clients and messages need,
in `tagma.server.transport` what is slow to import and only a server or a launcher needs. All other
files import `flwr.app`, `flwr.serverapp` and `flwr.clientapp` alone. With another version than the
tested one a line says so; a part that is missing there is an error of one line.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flwr
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Error,
    Message,
    Metadata,
    MetricRecord,
    RecordDict,
)

from tagma.errors import TagmaError

TESTED = "1.41.0"
"""The version that pyproject.toml pins."""
IS_TESTED = flwr.__version__ == TESTED
if not IS_TESTED:
    logging.getLogger("tagma").warning(
        "Flower %s is installed, Tagma is tested with %s: pip install flwr==%s",
        flwr.__version__, TESTED, TESTED,
    )  # fmt: skip


@contextmanager
def private_parts() -> Iterator[None]:
    """Around imports of private names: what is missing in another version is one clear line."""
    try:
        yield
    except ImportError as missing:
        raise TagmaError(
            f"Flower {flwr.__version__} lacks what Tagma uses of {TESTED} ({missing}): "
            f"pip install flwr=={TESTED}"
        ) from None


with private_parts():
    from flwr.common.constant import ErrorCode  # what Flower's own error replies mean
    from flwr.proto.node_pb2 import NodeInfo  # in the signature of Grid.get_nodes
    from flwr.supercore.run import Run  # in the signature of Grid.set_run
    from flwr.supercore.task_identity import TaskIdentity

__all__ = [
    "IS_TESTED", "TESTED", "ErrorCode", "NodeInfo", "Run", "answer_from", "answer_to",
    "array_record", "be_server", "become_error", "content_of", "identity_as_it_was", "inside",
    "is_server", "name_message", "numpy_array", "own_copy", "private_parts",
]  # fmt: skip


def be_server(node: int) -> None:
    """Let this process send messages as a server: Flower reads the sender from global variables."""
    TaskIdentity.task_id = TaskIdentity.run_id = 1
    TaskIdentity.node_id = node


@contextmanager
def identity_as_it_was() -> Iterator[None]:
    """Whoever this process was for Flower, it is again afterwards."""
    names = ("_task_id", "_run_id", "_node_id")
    before = {name: getattr(TaskIdentity, name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(TaskIdentity, name, value)


def is_server() -> bool:
    """Whether this process can send messages."""
    try:
        return bool(TaskIdentity.run_id)
    except RuntimeError:  # nobody has said so yet
        return False


def name_message(message: Message, name: str) -> None:
    """Give a message the id that a SuperLink would; Flower has no setter for it."""
    message.metadata.__dict__["_message_id"] = name


def answer_to(reply: Message, name: str) -> None:
    """Say which message a reply answers."""
    reply.metadata.__dict__["_reply_to_message_id"] = name


def answer_from(reply: Message, node: int) -> None:
    """Say which node a reply comes from."""
    reply.metadata.__dict__["_src_node_id"] = node


def become_error(reply: Message, error: Error) -> None:
    """Let a reply be an error, without its content."""
    reply.__dict__.update(_content=None, _error=error)


def numpy_array(dtype: str, shape: tuple[int, ...], data: bytes) -> Array:
    """An `Array` from its bytes in NumPy's npy format.

    Its own constructor spends most of its time finding out which arguments it was given.
    """
    array = Array.__new__(Array)
    array.__dict__.update(dtype=dtype, shape=shape, stype="numpy.ndarray", data=data)
    return array


_NO_ARRAYS, _NO_RECORDS = ArrayRecord(), RecordDict()


def array_record(arrays: dict[str, Array]) -> ArrayRecord:
    """A record of these arrays, made without checking each of them."""
    record = _NO_ARRAYS.copy()
    record.__dict__["_data"] = arrays
    return record


def content_of(records: dict[str, ArrayRecord | ConfigRecord | MetricRecord]) -> RecordDict:
    """The content of a message, made likewise."""
    content = _NO_RECORDS.copy()
    content.__dict__["_data"] = records
    return content


def inside(record: RecordDict | ArrayRecord | ConfigRecord | MetricRecord) -> dict[str, Any]:
    """What a record holds, to look at: its own methods take ten times as long."""
    return record.__dict__["_data"]


def own_copy(message: Message) -> Message:
    """A message as its receiver would have it: nothing in it is shared but immutable bytes.

    Flower copies by serialising, which costs more than all else that an exchange in one process
    does.
    """
    content = message.content.copy()
    records = content.__dict__["_data"]
    for name, record in records.items():
        records[name] = own = record.copy()
        if isinstance(own, ArrayRecord):
            arrays = own.__dict__["_data"]
            for key, array in arrays.items():
                arrays[key] = copy = Array.__new__(Array)
                copy.__dict__.update(array.__dict__)
    metadata = Metadata.__new__(Metadata)
    metadata.__dict__.update(message.metadata.__dict__)
    received = Message.__new__(Message)
    received.__dict__.update(_metadata=metadata, _content=content, _error=None)
    return received
