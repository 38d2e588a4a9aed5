"""How vectors travel in Flower messages: one float64 vector per record, in NumPy's npy format.

The names of the records that server and clients exchange are here too.

The bytes are those that `Array.from_numpy_ndarray` would write. Packing reuses the header, which
depends on the length only, and unpacking is a read-only view of the bytes, so both cost a few
microseconds plus one copy. Unpacking trusts nothing: bytes that are not exactly the vector that
was expected raise `MalformedVector`.
"""

from functools import lru_cache
from io import BytesIO

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message

from tagma.arrays import Array
from tagma.flower_private import numpy_array

VECTOR = "vector"
"""The only key of a record that carries a vector."""
MODEL = "model"
"""The record of an instruction that carries the model; absent in round 1."""
UPDATE = "update"
"""The record of a reply that carries the client's vector."""
ABOUT, CLIENT = "about", "client"
"""In round 1 a reply also says, in the record ABOUT, which number its client has."""
CONFIG, ROUND = "config", "server-round"
"""The record of an instruction that says in which round it is given, under Flower's own names."""
METRICS, LOSS = "metrics", "loss"
"""The record of a reply to an evaluation, and the key of the loss in it."""

_NUMPY = "numpy.ndarray"


class MalformedVector(Exception):
    """A record that does not carry the vector that was expected; the text says why."""


@lru_cache(maxsize=64)
def _header(length: int) -> bytes:
    buffer = BytesIO()
    layout = {"descr": "<f8", "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(buffer, layout)
    return buffer.getvalue()


def pack(vector: Array) -> ArrayRecord:
    """The record for a vector of any real dtype."""
    vector = np.ascontiguousarray(vector, dtype="<f8")
    data = _header(vector.size) + vector.tobytes()
    record = ArrayRecord()
    record[VECTOR] = numpy_array((vector.size,), data)
    return record


def unpack(record: object, length: int) -> Array:
    """The vector of a record, as a read-only view; `length` is the length it must have."""
    if not isinstance(record, ArrayRecord) or list(record.keys()) != [VECTOR]:
        raise MalformedVector("unexpected records")
    array = record[VECTOR]
    if not isinstance(array.shape, tuple | list) or tuple(array.shape) != (length,):
        raise MalformedVector("wrong shape")
    if array.dtype != "float64" or array.stype != _NUMPY:
        raise MalformedVector("wrong dtype")
    header = _header(length)
    if not isinstance(array.data, bytes):
        raise MalformedVector("malformed bytes")
    if len(array.data) != len(header) + 8 * length or not array.data.startswith(header):
        raise MalformedVector("malformed bytes")
    return np.frombuffer(array.data, dtype="<f8", offset=len(header))


def round_of(instruction: Message) -> int:
    """The round in which an instruction was given."""
    config = instruction.content[CONFIG]
    assert isinstance(config, ConfigRecord)
    number = config[ROUND]
    assert isinstance(number, int)
    return number


def unpack_any(record: object) -> Array:
    """The vector of a record, of whatever length it says it has."""
    if not isinstance(record, ArrayRecord) or VECTOR not in record:
        raise MalformedVector("unexpected records")
    shape = record[VECTOR].shape
    return unpack(record, shape[0] if len(shape) == 1 else -1)
