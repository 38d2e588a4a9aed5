"""Examples as they were read: once in a process, for all clients together.

Inputs stay as small as they came, so that images of bytes are bytes: they become (input - offset) /
scale when a client takes some.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Labels
from tagma.errors import SettingError

_FEW = 8
_MANY = 100
"""Different numbers that may all be classes."""
_WHOLE = 1e15
"""Below it whole numbers are written out."""
LARGEST = 1e30
"""Of numbers that are computed with: single precision has room for sums of them."""


@dataclass(frozen=True, eq=False)
class Examples:
    """N examples."""

    inputs: NDArray[Any]
    """Shape (N, ...)."""
    targets: NDArray[Any]
    """Numbers of classes, or numbers, shape (N,)."""
    classes: tuple[str, ...] = ()
    """The names of the classes; none for numbers."""
    offset: float | NDArray[Any] = 0.0
    scale: float | NDArray[Any] = 1.0
    held_out: Labels | None = None
    """The rows that whoever made the data keeps for tests; None: nobody has said."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Other values of every example, by which clients or clusters can be told apart."""
    features: tuple[str, ...] | None = None
    """The names of the inputs, where they have some."""
    target: str | None = None
    """The name of the targets, where they have one."""

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        return self.inputs.shape[1:]

    def take(self, rows: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of some inputs, as numbers, and their targets."""
        inputs = self.inputs[rows]
        if inputs.dtype.kind != "f":
            inputs = inputs.astype(np.float32)
        inputs -= inputs.dtype.type(self.offset)
        inputs /= inputs.dtype.type(self.scale)
        return inputs, self.targets[rows]

    def column(self, name: str, key: str) -> NDArray[Any]:
        """Another value of every example; `key` is the setting that names it."""
        if name not in self.columns:
            known = ", ".join(sorted(self.columns)[:_FEW]) or "none"
            raise SettingError(key, name, f"the data have no such column; there are {known}")
        return self.columns[name]


def classes_of(
    values: NDArray[Any], key: str, name: object, known: Sequence[str] | None = None
) -> tuple[Labels, tuple[str, ...]]:
    """From labels, numbers or text, to numbers of classes, and their names.

    The classes are those `known`, or those that there are, in their order.
    """
    if values.dtype.kind not in "biufU":
        raise SettingError(key, name, f"classes must be numbers or text, not {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax()) + 1
        raise SettingError(key, name, f"the class of row {row} is not finite")
    found, numbers = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f" and len(found) > max(_MANY, len(values) // 10):
        said = "holds too many different numbers for classes; for numbers task.kind=regression"
        raise SettingError(key, name, said)
    texts = [label_text(each) for each in found]
    if known is None:
        if len(texts) < 2:
            said = f"there is only one class, {texts[0]}" if texts else "there is no class"
            raise SettingError(key, name, f"{said}; a classification needs two")
        return numbers.astype(np.int64), tuple(texts)
    if missing := sorted(set(texts) - set(known)):
        raise SettingError(key, name, f"holds the class {missing[0]}, which task.classes has not")
    places = np.array([list(known).index(text) for text in texts], dtype=np.int64)
    return places[numbers], tuple(known)


def label_text(label: Any) -> str:
    """The name of a class, different for different labels; whole numbers without a point."""
    if not isinstance(label, np.floating | float):
        return str(label)
    number = float(label)
    if number.is_integer() and abs(number) < _WHOLE:
        return str(int(number))
    short = f"{label:g}"
    return short if type(label)(short) == label else str(label)


def with_classes(examples: Examples, known: Sequence[str], name: object) -> Examples:
    """The same with all the classes that are known."""
    labels = np.array(examples.classes)[examples.targets]
    targets, classes = classes_of(labels, "task.data", name, known)
    return replace(examples, targets=targets, classes=classes)
