"""Any state that an algorithm may have goes into a file and comes out as it was."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from tagma.arrays import Array, Labels
from tagma.server.plain_state import put_together, taken_apart


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
    plain = (back.number, back.share, back.flag, back.missing, back.words, back.labels.tolist())
    assert plain == (3, 2.0, True, None, ("a", None), [1, 0])


def test_what_a_state_cannot_hold_is_said_by_name():
    with pytest.raises(TypeError, match=r"state\.name: a state cannot hold a set"):
        taken_apart(Inner(np.ones(1), {1}), "state", {})


@pytest.mark.parametrize("damage", [{"number": "three"}, {"flag": 1}, {"array": None}])
def test_a_value_of_another_type_is_refused(damage):
    arrays = {}
    plain = taken_apart(STATE, "state", arrays)
    if "array" in damage:
        plain["inner"] |= damage
    else:
        plain |= damage
    with pytest.raises((TypeError, KeyError)):
        put_together(Outer, plain, arrays)
