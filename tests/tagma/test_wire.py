import numpy as np
import pytest
from flwr.app import Array, ArrayRecord

from tagma.wire import VECTOR, MalformedVector, pack, unpack, unpack_any


@pytest.mark.parametrize("length", [0, 1, 7, 1000])
def test_bytes_are_those_that_flower_itself_would_write(length):
    vector = np.linspace(-1, 1, length)
    ours, flowers = pack(vector)[VECTOR], Array(vector)
    assert (ours.dtype, ours.shape, ours.stype) == (flowers.dtype, flowers.shape, flowers.stype)
    assert ours.data == flowers.data
    assert ours.object_id == flowers.object_id


def test_a_vector_comes_back_as_it_was():
    vector = np.array([1.5, -0.0, 3e300])
    assert np.array_equal(unpack(pack(vector), 3), vector)
    assert np.array_equal(unpack_any(pack(vector)), vector)


def test_records_made_by_flower_are_understood():
    vector = np.arange(4.0)
    assert np.array_equal(unpack(ArrayRecord({VECTOR: Array(vector)}), 4), vector)


def test_a_received_vector_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        unpack(pack(np.ones(3)), 3)[0] = 2


good = pack(np.ones(3))[VECTOR]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ArrayRecord(), "unexpected records"),
        (ArrayRecord({"w": good}), "unexpected records"),
        (ArrayRecord({VECTOR: good, "extra": good}), "unexpected records"),
        ("not a record", "unexpected records"),
        (pack(np.ones(4)), "wrong shape"),
        (ArrayRecord({VECTOR: Array(np.ones((1, 3)))}), "wrong shape"),
        (ArrayRecord({VECTOR: Array(np.ones(3, dtype=np.float32))}), "wrong dtype"),
        (ArrayRecord({VECTOR: Array("float64", (3,), "pickle", good.data)}), "wrong dtype"),
        (ArrayRecord({VECTOR: Array("float64", (3,), good.stype, good.data[:-1])}), "malformed"),
        (ArrayRecord({VECTOR: Array("float64", (3,), good.stype, b"x" * 152)}), "malformed"),
        (ArrayRecord({VECTOR: Array("float64", (3,), good.stype, b"")}), "malformed"),
    ],
)
def test_anything_but_the_expected_vector_is_refused_with_a_reason(record, reason):
    with pytest.raises(MalformedVector, match=reason):
        unpack(record, 3)
