"""How examples as they are in a file become what a task's model takes.

A run leaves it in its folder (`inputs.json`), so that new examples are scaled, and classes called,
as those were that it trained on, wherever the training data are by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagma.errors import TagmaError
from tagma.tasks.data.examples import Examples, label_text
from tagma.tasks.models.model import Kind, Problem

_KINDS = ("classification", "regression")


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was found in the training data."""

    kind: Kind
    shape: tuple[int, ...]
    """Of one input."""
    classes: tuple[str, ...]
    features: tuple[str, ...] | None
    """The columns that are inputs, where they have names."""
    target: str | None
    """The column that is predicted, where it has a name."""
    whole: bool | None
    """Whether inputs are bytes; None where nobody has seen any."""
    offset: float | NDArray[Any]
    scale: float | NDArray[Any]

    @classmethod
    def of(cls, examples: Examples, problem: Problem) -> Self:
        """That of examples which are scaled."""
        return cls(
            problem.kind, problem.shape, examples.classes, examples.features, examples.target,
            examples.inputs.dtype == np.uint8, examples.offset, examples.scale,
        )  # fmt: skip

    @classmethod
    def unseen(
        cls,
        problem: Problem,
        classes: tuple[str, ...],
        features: tuple[str, ...] | None,
        target: str | None,
    ) -> Self:
        """That of examples which are elsewhere, and not scaled."""
        return cls(problem.kind, problem.shape, classes, features, target, None, 0.0, 1.0)

    @property
    def problem(self) -> Problem:
        """What the model is to predict, and from what."""
        return Problem(self.shape, len(self.classes) or 1, self.kind)

    @property
    def names(self) -> NDArray[Any]:
        """The names of the classes; where all are numbers, these."""
        try:
            numbers = np.array([float(name) for name in self.classes])
        except ValueError:
            return np.array(self.classes)
        if [label_text(number) for number in numbers] != list(self.classes):
            return np.array(self.classes)
        return numbers.astype(np.int64) if (numbers == np.trunc(numbers)).all() else numbers

    def prepared(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Raw inputs, scaled as those of the training were; a `ValueError` if they do not fit."""
        if raw.shape[1:] != self.shape:
            raise ValueError(of_another_shape(raw.shape[1:], self.shape))
        images = len(self.shape) == 3
        if images and self.whole is not None and self.whole != (raw.dtype == np.uint8):
            kinds = ("fractions", "bytes") if self.whole else ("bytes", "fractions")
            raise ValueError("images are {}, and were {} in the run's training data".format(*kinds))
        return Examples(raw, np.zeros(len(raw)), offset=self.offset, scale=self.scale).take(
            np.arange(len(raw))
        )[0]

    def described(self) -> dict[str, Any]:
        """All of it in JSON's own types."""
        plain = {name: np.asarray(getattr(self, name)).tolist() for name in ("offset", "scale")}
        return vars(self) | plain

    @classmethod
    def from_described(cls, values: Mapping[str, Any]) -> Self:
        """The inverse; a `ValueError` or the like if it is something else."""
        shape = tuple(int(size) for size in values["shape"])
        features = values["features"]
        found = cls(
            kind=values["kind"],
            shape=shape,
            classes=tuple(str(name) for name in values["classes"]),
            features=None if features is None else tuple(str(name) for name in features),
            target=None if values["target"] is None else str(values["target"]),
            whole=values["whole"],
            offset=_numbers(values["offset"], shape),
            scale=_numbers(values["scale"], shape),
        )
        if found.kind not in _KINDS or not shape or min(shape) < 1:
            raise ValueError("its kind or shape is none")
        if not np.all(found.scale):
            raise ValueError("it would divide by 0")
        if found.kind == "classification" and len(found.classes) < 2:
            raise ValueError("it has no classes")
        return found


def _numbers(value: Any, shape: tuple[int, ...]) -> float | NDArray[Any]:
    found = np.asarray(value, dtype=np.float64)
    if found.shape not in ((), shape) or not np.isfinite(found).all():
        raise ValueError("its scaling does not fit its shape")
    return float(found) if found.ndim == 0 else found


def of_another_shape(here: tuple[int, ...], there: tuple[int, ...]) -> str:
    """What is wrong with inputs of one shape where the run's have another."""
    if len(here) == len(there) == 1:
        return f"inputs have {here[0]} columns, those of the run {there[0]}"
    return f"inputs have shape {here} each, those of the run {there}"


def class_numbers(values: NDArray[Any], classes: tuple[str, ...]) -> NDArray[Any]:
    """The number of each label's class; one that the run did not know is an error."""
    texts = [label_text(each) for each in values]
    numbers = {name: number for number, name in enumerate(classes)}
    if strange := next((text for text in texts if text not in numbers), None):
        known = ", ".join(classes[:8])
        raise TagmaError(f"there is no class {strange!r:.60} in the run; it has {known}")
    return np.array([numbers[text] for text in texts], dtype=np.int64)
