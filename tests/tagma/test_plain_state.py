"""Any state that an algorithm may have goes into a file and comes out as it was."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from tagma.arrays import Array, Labels
from tagma.plain_state import locked, put_together, taken_apart


@dataclass(frozen=True)
class Inner:
    array: Array
    name: str = "x"


@dataclass(frozen=True)
class Outer:
    models: Array
    labels: Labels
    number: int
    share: float
    flag: bool
    inner: Inner
    missing: Inner | None
    perhaps: Array | None
    several: tuple[Inner | None, ...]
    memories: Mapping[str, Array]
    words: tuple[str | None, ...]
    pairs: tuple[tuple[int | None, str], ...]


STATE = Outer(
    models=np.ones((2, 3), dtype=np.float32),
    labels=np.array([1, 0]),
    number=3,
    share=2.0,
    flag=True,
    inner=Inner(np.arange(2.0)),
    missing=None,
    perhaps=np.zeros((0, 3)),
    several=(None, Inner(np.ones(1), "y")),
    memories={"centre": np.full(2, 7.0)},
    words=("a", None),
    pairs=((None, "x"), (3, "y")),
)


def there_and_back(state, kind):
    arrays = {}
    plain = taken_apart(state, "state", arrays)
    return put_together(kind, plain, arrays)


def test_a_state_comes_back_as_it_was():
    back = there_and_back(STATE, Outer)
    assert back.models.dtype == np.float32
    assert back.perhaps.shape == (0, 3)
    assert back.inner.array.tolist() == [0.0, 1.0]
    assert back.several[0] is None
    assert back.several[1].name == "y"
    assert back.memories["centre"].tolist() == [7.0, 7.0]
    assert back.pairs == ((None, "x"), (3, "y"))
    plain = (back.number, back.share, back.flag, back.missing, back.words, back.labels.tolist())
    assert plain == (3, 2.0, True, None, ("a", None), [1, 0])


def test_what_a_state_cannot_hold_is_said_by_name():
    with pytest.raises(TypeError, match=r"state\.name: a state cannot hold a set"):
        taken_apart(Inner(np.ones(1), {1}), "state", {})


@dataclass(frozen=True)
class Keyed:
    of_client: Mapping[int, float]


@dataclass(frozen=True)
class Bare:
    pair: tuple = ()


@dataclass(frozen=True)
class Either:
    value: int | str = 1


@dataclass(frozen=True)
class NoArray:
    array: Array


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Keyed({3: 1.0}), "state.of_client: the keys of a state's dictionary must be strings"),
        (Inner(np.array(["a"])), "state.array: a state cannot hold an array of <U1 and shape (1,)"),
        (Bare(), "pair: its type, tuple, does not say what is in it"),
        (Either(), "value: a part of type int | str can be several things"),
        (NoArray(1.0), "array: 1.0 is no array"),
    ],
)
def test_what_would_not_come_back_as_it_was_is_said_by_name(state, said):
    with pytest.raises(TypeError) as problem:
        there_and_back(state, type(state))
    assert str(problem.value) == said


def test_parts_of_a_tuple_may_be_of_different_types():
    assert there_and_back((1, "a"), tuple[int, str]) == (1, "a")


@pytest.mark.parametrize(
    "damage",
    [
        {"number": "three"},
        {"flag": 1},
        {"array": None},
        {"pairs": [["x", 3]]},
        {"pairs": [[3, "x", "y"]]},
        {"pairs": [[3]]},
    ],
)
def test_a_value_of_another_type_is_refused(damage):
    arrays = {}
    plain = taken_apart(STATE, "state", arrays)
    if "array" in damage:
        plain["inner"] |= damage
    else:
        plain |= damage
    with pytest.raises((TypeError, KeyError, ValueError)):
        put_together(Outer, plain, arrays)


def test_arrays_are_locked_wherever_they_are_in_a_state():
    arrays = [np.zeros(1) for _ in range(4)]
    locked(Either((arrays[0], {"a": arrays[1], "b": Either(arrays[2])}, None, 1.0)))
    assert [array.flags.writeable for array in arrays] == [False, False, False, True]
