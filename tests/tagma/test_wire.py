"""Models in Flower messages: by name, in their precision, and as Flower itself writes them."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

from tagma.flower_private import be_server
from tagma.layout import Layout
from tagma.wire import (
    ARRAYS,
    CONFIG,
    ROUND,
    WORK,
    MalformedArrays,
    config_of,
    models_of,
    pack,
    round_of,
    unpack,
)  # fmt: skip

NAMES = {
    "conv.weight": np.arange(12, dtype=np.float32).reshape(3, 1, 2, 2),
    "conv.bias": np.array([-0.0, 1e-30, 3e14], dtype=np.float32),
    "norm.running_mean": np.array([5.0, 6.0], dtype=np.float32),
    "norm.num_batches_tracked": np.array(7),
    "scale": np.array(2.5, dtype=np.float32),
}
"""A model as torch has them: parameters, floating statistics and a count of no dimension."""
MODEL = Layout.of(NAMES)
VECTOR = MODEL.vector(NAMES)
BUFFERS = {part.name: NAMES[part.name] for part in MODEL.buffers}
LINE = Layout.of({"w": np.zeros(3)})


def line(length):
    return Layout.of({"w": np.zeros(length)})


def same(one, other):
    assert list(one) == list(other)
    for name, values in one.items():
        assert values.dtype == other[name].dtype
        assert values.shape == other[name].shape
        assert values.tobytes() == np.asarray(other[name]).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (1000,), (2, 3), (1, 2, 3, 4), ()])
def test_bytes_are_those_that_flower_itself_would_write(shape, dtype):
    values = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(dtype)
    layout = Layout.of({"w": values})
    ours, flowers = pack(layout, layout.vector({"w": values}))["w"], Array(values)
    assert (ours.dtype, ours.shape, ours.stype) == (flowers.dtype, flowers.shape, flowers.stype)
    assert ours.data == flowers.data
    assert ours.object_id == flowers.object_id
    assert np.array_equal(unpack(ArrayRecord({"w": flowers}), layout)[0], values.ravel())


def test_a_vector_comes_back_as_it_was():
    vector = np.array([1.5, -0.0, 3e300])
    found, buffers = unpack(pack(LINE, vector), LINE)
    assert found.tobytes() == vector.tobytes()
    assert buffers == {}


def test_named_arrays_of_any_shape_come_back_by_name():
    vector, buffers = unpack(pack(MODEL, VECTOR, BUFFERS), MODEL)
    same(MODEL.named(vector, buffers), NAMES)


def test_float32_stays_float32_on_the_wire_and_off_it():
    record = pack(MODEL, VECTOR, BUFFERS)
    assert {name: array.dtype for name, array in record.items()} == {
        name: values.dtype.name for name, values in NAMES.items()
    }
    assert sum(len(array.numpy().tobytes()) for array in record.values()) == MODEL.nbytes
    assert unpack(record, MODEL)[0].dtype == np.float32


def test_what_was_computed_in_double_precision_is_sent_in_that_of_the_model():
    layout = Layout.of({"w": np.zeros(2, dtype=np.float32)})
    record = pack(layout, np.array([0.1, 0.2]))
    assert np.array_equal(unpack(record, layout)[0], np.array([0.1, 0.2], dtype=np.float32))


def test_the_order_of_the_arrays_in_a_record_does_not_matter():
    record = pack(MODEL, VECTOR, BUFFERS)
    turned = ArrayRecord(OrderedDict((name, record[name]) for name in reversed(list(record))))
    assert np.array_equal(unpack(turned, MODEL)[0], VECTOR)


def test_what_we_write_is_read_by_flowers_own_methods():
    record = pack(MODEL, VECTOR, BUFFERS)
    same({name: t.numpy() for name, t in record.to_torch_state_dict().items()}, NAMES)
    for found, values in zip(record.to_numpy_ndarrays(), NAMES.values(), strict=True):
        assert np.array_equal(found, values)
        assert found.dtype == values.dtype


def test_the_state_of_a_torch_module_that_flower_writes_is_read():
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    state = module.state_dict()
    named = {name: tensor.numpy() for name, tensor in state.items()}
    layout = Layout.of(named)
    theirs = ArrayRecord(state)
    vector, buffers = unpack(theirs, layout)
    assert sorted(buffers) == ["1.num_batches_tracked", "1.running_mean", "1.running_var"]
    same(layout.named(vector, buffers), named)
    ours = pack(layout, vector, buffers)
    assert {n: a.object_id for n, a in ours.items()} == {n: a.object_id for n, a in theirs.items()}
    module.load_state_dict(ours.to_torch_state_dict())


def test_arrays_without_names_are_numbered_by_flower_and_are_read_too():
    theirs = ArrayRecord([np.ones((2, 2)), np.zeros(3)])
    layout = Layout.of({name: array.numpy() for name, array in theirs.items()})
    assert unpack(theirs, layout)[0].tolist() == [1, 1, 1, 1, 0, 0, 0]


def test_a_record_survives_the_way_through_flowers_own_serialisation():
    record = pack(MODEL, VECTOR, BUFFERS)
    contents = {name: part.deflate() for name, part in get_all_nested_objects(record).items()}
    arrived = inflate_object_from_contents(record.object_id, contents)
    vector, buffers = unpack(arrived, MODEL)
    same(MODEL.named(vector, buffers), NAMES)


def instruction(**arrays):
    be_server(1)
    content = RecordDict({CONFIG: ConfigRecord({ROUND: 4, WORK: "gradient"})})
    for name, record in arrays.items():
        content[name.replace("_", ".")] = record
    return Message(content, 2, "train")


def test_a_message_has_no_model_one_or_several_in_their_order():
    one = pack(LINE, np.ones(3))
    assert models_of(instruction(), LINE) == []
    ((vector, buffers),) = models_of(instruction(arrays=one), LINE)
    assert (vector.tolist(), buffers) == ([1, 1, 1], {})
    several = {f"arrays_{k}": pack(LINE, np.full(3, k)) for k in range(12)}
    found = models_of(instruction(**dict(reversed(several.items()))), LINE)
    assert [vector[0] for vector, _ in found] == list(range(12))


def test_several_models_in_one_message_have_their_own_buffers():
    records = {
        f"arrays_{k}": pack(MODEL, VECTOR + k, BUFFERS | {"norm.num_batches_tracked": np.array(k)})
        for k in range(3)
    }
    for k, (vector, buffers) in enumerate(models_of(instruction(**records), MODEL)):
        assert np.array_equal(vector, VECTOR + k)
        assert buffers["norm.num_batches_tracked"] == k


def test_an_instruction_says_round_and_work_under_flowers_name_for_the_round():
    message = instruction()
    assert round_of(message) == 4
    assert dict(config_of(message)) == {"server-round": 4, "work": "gradient"}
    assert (ARRAYS, CONFIG) == ("arrays", "config")


def test_a_received_vector_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        unpack(pack(LINE, np.ones(3)), LINE)[0][0] = 2


good = pack(LINE, np.ones(3))["w"]
big_endian = Array(np.ones(3, dtype=">f8"))
fortran = Array(np.ones(3))
fortran.data = good.data.replace(b"False", b"True ")


def array_of(data, shape=(3,), dtype="float64", stype="numpy.ndarray"):
    return ArrayRecord({"w": Array(dtype, shape, stype, data)})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ArrayRecord(), "unexpected records"),
        (ArrayRecord({"v": good}), "unexpected records"),
        (ArrayRecord({"w": good, "extra": good}), "unexpected records"),
        ("not a record", "unexpected records"),
        (ConfigRecord({"w": 1.0}), "unexpected records"),
        (None, "unexpected records"),
        (pack(line(4), np.ones(4)), "wrong shape"),
        (pack(line(0), np.ones(0)), "wrong shape"),
        (ArrayRecord({"w": Array(np.ones((1, 3)))}), "wrong shape"),
        (ArrayRecord({"w": Array(np.ones((3, 1)))}), "wrong shape"),
        (array_of(good.data, shape=(-3,)), "wrong shape"),
        (array_of(good.data, shape=()), "wrong shape"),
        (ArrayRecord({"w": Array(np.ones(3, dtype=np.float32))}), "wrong dtype"),
        (ArrayRecord({"w": Array(np.ones(3, dtype=np.int64))}), "wrong dtype"),
        (ArrayRecord({"w": Array(np.ones(3, dtype=np.complex128))}), "wrong dtype"),
        (array_of(good.data, dtype="object"), "wrong dtype"),
        (array_of(good.data, stype="pickle"), "wrong dtype"),
        (array_of(good.data, stype="torch.Tensor"), "wrong dtype"),
        (array_of(good.data[:-1]), "malformed bytes"),
        (array_of(good.data + b"\0"), "malformed bytes"),
        (array_of(b"x" * len(good.data)), "malformed bytes"),
        (array_of(b""), "malformed bytes"),
        (array_of(Array(np.ones(4)).data[: len(good.data)]), "malformed bytes"),
        (array_of(Array(np.ones((3, 1))).data), "malformed bytes"),
        (array_of(Array(np.ones(3, dtype=np.int64)).data), "malformed bytes"),
        (array_of(big_endian.data), "malformed bytes"),
        (array_of(fortran.data), "malformed bytes"),
    ],
)
def test_anything_but_the_expected_array_is_refused_with_a_reason(record, reason):
    with pytest.raises(MalformedArrays, match=f"^{reason}$"):
        unpack(record, LINE)


def changed(name, array):
    record = pack(MODEL, VECTOR, BUFFERS)
    del record[name]
    if array is not None:
        record[name] = array
    return record


def renamed():
    record = pack(MODEL, VECTOR, BUFFERS)
    record["scales"] = record["scale"]
    del record["scale"]
    return record


def with_one_more():
    record = pack(MODEL, VECTOR, BUFFERS)
    record["head.weight"] = Array(np.ones(2))
    return record


COUNT = "norm.num_batches_tracked"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (changed("scale", None), "unexpected records"),
        (changed(COUNT, None), "unexpected records"),
        (renamed(), "unexpected records"),
        (with_one_more(), "unexpected records"),
        (changed("conv.weight", Array(np.ones((12,), np.float32))), "wrong shape"),
        (changed("conv.weight", Array(np.ones((2, 1, 3, 2), np.float32))), "wrong shape"),
        (changed("scale", Array(np.ones(1, np.float32))), "wrong shape"),
        (changed("scale", Array(np.array(1.0))), "wrong dtype"),
        (changed(COUNT, Array(np.array([7]))), "wrong shape"),
        (changed(COUNT, Array(np.array(7.0))), "wrong dtype"),
        (changed(COUNT, Array(np.array(7, dtype=np.int32))), "wrong dtype"),
        (changed(COUNT, Array("int64", (), "numpy.ndarray", b"7")), "malformed bytes"),
        (changed("norm.running_mean", Array(np.ones(3, np.float32))), "wrong shape"),
    ],
)
def test_one_wrong_array_among_many_is_refused_with_a_reason(record, reason):
    with pytest.raises(MalformedArrays, match=f"^{reason}$"):
        unpack(record, MODEL)
