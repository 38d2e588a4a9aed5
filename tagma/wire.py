"""How models travel in Flower messages, under the names that Flower's own strategies use.

An instruction holds the record `arrays` with the model's named arrays (or `arrays.0`, `arrays.1`,
... where a client gets several models) and the record `config`; a reply holds `arrays` and
`metrics`, with `num-examples` among them. So our server can serve anybody's ClientApp, and our
ClientApp anybody's server.

Arrays are in NumPy's npy format, with the bytes that `Array.from_numpy_ndarray` would write.
Packing reuses the header, which depends on precision and shape only, and unpacking is a read-only
view of the bytes, so both cost a few microseconds plus one copy. Unpacking trusts nothing: bytes
that are not exactly the array that was expected raise `MalformedArrays`.
"""

from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
from flwr.app import Array as WireArray
from flwr.app import ArrayRecord, ConfigRecord, Message
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.flower_private import array_record, inside, numpy_array
from tagma.layout import Layout, Named, Part

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"
ROUND, WORK = "server-round", "work"
"""Keys of `config`: the round, and what is asked for."""
EXAMPLES, CLIENT = "num-examples", "client"
"""Keys of `metrics`: how many examples the client has, and the number it gives itself."""

_NUMPY = "numpy.ndarray"


class MalformedArrays(Exception):
    """A record that does not carry the arrays that were expected; the text says why."""


@lru_cache(maxsize=64)
def _on_the_wire(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype).newbyteorder("<")


@lru_cache(maxsize=1024)
def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    buffer = BytesIO()
    layout = {"descr": _on_the_wire(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, layout)
    return buffer.getvalue()


def pack(layout: Layout, vector: Array, buffers: Named | None = None) -> ArrayRecord:
    """The record of a model: a vector of any real precision, and its buffers if it has any."""
    named = layout.named(vector, buffers)
    return array_record({part.name: _array(named[part.name], part) for part in layout.parts})


def _array(values: NDArray[Any], part: Part) -> WireArray:
    data = np.ascontiguousarray(values, dtype=_on_the_wire(part.dtype)).tobytes()
    return numpy_array(part.dtype, part.shape, _header(part.dtype, part.shape) + data)


def unpack(
    record: object, layout: Layout, into: Array | None = None
) -> tuple[Array, dict[str, NDArray[Any]]]:
    """The vector of a record and its buffers; read-only where nothing has to be joined.

    With `into` the vector is written there, and that is it.
    """
    if not isinstance(record, ArrayRecord):
        raise MalformedArrays("unexpected records")
    arrays = inside(record)
    if len(arrays) != len(layout.parts):
        raise MalformedArrays("unexpected records")
    pieces, buffers = [], {}
    for part in layout.parts:
        if part.name not in arrays:
            raise MalformedArrays("unexpected records")
        values = _values(arrays[part.name], part)
        if part.buffer:
            buffers[part.name] = values.reshape(part.shape)
        else:
            pieces.append(values)
    if into is not None:
        np.concatenate(pieces, out=into)
        return into, buffers
    if len(pieces) == 1:
        return pieces[0], buffers
    return np.concatenate(pieces, dtype=layout.dtype), buffers


def _values(array: WireArray, part: Part) -> NDArray[Any]:
    """The entries of one array, as a flat read-only view."""
    if not isinstance(array.shape, tuple | list) or tuple(array.shape) != part.shape:
        raise MalformedArrays("wrong shape")
    if array.dtype != part.dtype or array.stype != _NUMPY:
        raise MalformedArrays("wrong dtype")
    header = _header(part.dtype, part.shape)
    dtype = _on_the_wire(part.dtype)
    size = len(header) + dtype.itemsize * part.size
    if not isinstance(array.data, bytes) or len(array.data) != size:
        raise MalformedArrays("malformed bytes")
    if not array.data.startswith(header):
        raise MalformedArrays("malformed bytes")
    return np.frombuffer(array.data, dtype=dtype, offset=len(header))


def models_of(instruction: Message, layout: Layout) -> list[tuple[Array, dict[str, NDArray[Any]]]]:
    """The models of an instruction, each a vector and its buffers: none, one or several."""
    content = instruction.content
    if ARRAYS in content:
        return [unpack(content[ARRAYS], layout)]
    names = (f"{ARRAYS}.{k}" for k in range(len(content)))
    return [unpack(content[name], layout) for name in names if name in content]


def config_of(instruction: Message) -> ConfigRecord:
    """What an instruction says beside the model."""
    config = instruction.content[CONFIG]
    assert isinstance(config, ConfigRecord)
    return config


def work_of(instruction: Message) -> str:
    """What an instruction asks for."""
    return str(config_of(instruction)[WORK])


def round_of(instruction: Message) -> int:
    """The round in which an instruction was given."""
    number = config_of(instruction)[ROUND]
    assert isinstance(number, int)
    return number
