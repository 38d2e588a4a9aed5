"""The named arrays of a model are one vector of its parameters, with the buffers beside it."""

import numpy as np
import pytest

from tagma.layout import Layout

SMALL = {
    "a": np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32),
    "count": np.array(9),
    "b": np.array(5.0, dtype=np.float32),
    "n.running_var": np.array([6.0], dtype=np.float32),
    "mask": np.array([True, False]),
}


def test_the_vector_holds_the_floating_arrays_in_their_order():
    layout = Layout.of(SMALL)
    assert layout.vector(SMALL).tolist() == [1, 2, 3, 4, 5]
    assert [part.name for part in layout.parameters] == ["a", "b"]
    assert layout.size == 5
    assert layout.nbytes == 4 * 4 + 8 + 4 + 4 + 2


def test_integers_flags_and_running_statistics_are_buffers():
    assert [part.name for part in Layout.of(SMALL).buffers] == ["count", "n.running_var", "mask"]


def test_other_floating_arrays_are_buffers_where_they_are_named():
    layout = Layout.of(SMALL, buffers=["b"])
    assert layout.vector(SMALL).tolist() == [1, 2, 3, 4]
    assert "b" in [part.name for part in layout.buffers]


def test_the_arrays_come_back_by_name_in_their_order_shape_and_precision():
    layout = Layout.of(SMALL)
    buffers = {part.name: SMALL[part.name] for part in layout.buffers}
    found = layout.named(layout.vector(SMALL), buffers)
    assert list(found) == list(SMALL)
    for name, values in SMALL.items():
        assert found[name].dtype == values.dtype
        assert found[name].shape == values.shape
        assert np.array_equal(found[name], values)


def test_one_array_is_the_vector_itself():
    weights = np.arange(6.0).reshape(2, 3)
    layout = Layout.of({"w": weights})
    vector = layout.vector({"w": weights})
    assert vector.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.shares_memory(layout.named(vector)["w"], vector)
    assert layout.named(vector)["w"].shape == (2, 3)


def test_nothing_is_copied_on_the_way_back():
    layout = Layout.of(SMALL)
    vector = layout.vector(SMALL)
    assert all(np.shares_memory(piece, vector) for piece in layout.split(vector))


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("float32", "float32", "float32"),
        ("float16", "float32", "float32"),
        ("float32", "float64", "float64"),
    ],
)
def test_the_vector_has_the_precision_that_holds_every_parameter(first, second, joined):
    named = {"a": np.ones(2, first), "b": np.ones(2, second), "count": np.ones(2, np.int64)}
    layout = Layout.of(named)
    assert layout.dtype == joined
    assert layout.vector(named).dtype == joined
    back = layout.named(layout.vector(named), {"count": named["count"]})
    assert [back["a"].dtype.name, back["b"].dtype.name] == [first, second]


def test_a_model_that_cannot_be_trained_is_refused():
    with pytest.raises(ValueError, match="no floating array"):
        Layout.of({"count": np.array(9)})
    with pytest.raises(ValueError, match="no floating array"):
        Layout.of({})


def test_layouts_of_like_models_are_equal_and_others_are_not():
    assert Layout.of(SMALL) == Layout.of({name: np.zeros_like(a) for name, a in SMALL.items()})
    assert Layout.of(SMALL) != Layout.of(dict(reversed(SMALL.items())))
