"""What a model is: named arrays, what it says of inputs, and how its loss changes.

A task with data of its own (`tagma.tasks.supervised`) is given one. It is made from the shape of an
input, the number of outputs and what they are: a score for each class, or one number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.layout import Named
from tagma.tasks.stack import Stack
from tagma.tasks.task import Better, Data

Kind = Literal["classification", "regression"]


@dataclass(frozen=True)
class Problem:
    """What a model is to predict, and from what."""

    shape: tuple[int, ...]
    """Of one input."""
    outputs: int
    """The number of classes; 1 for a number."""
    kind: Kind = "classification"

    @property
    def metrics(self) -> dict[str, Better]:
        """What predictions are judged by, the most telling one first."""
        if self.kind == "regression":
            return {"r2": "high", "loss": "low"}
        if self.outputs == 2:
            return {"accuracy": "high", "auc": "high", "loss": "low"}
        return {"accuracy": "high", "loss": "low"}


class Model(Protocol):
    """A model of a problem; vectors of parameters as everywhere (`tagma.layout`)."""

    @property
    def least_squares(self) -> bool:
        """Whether its loss is (<x, w> - y)^2 / 2."""

    @property
    def stackable(self) -> bool:
        """Whether `gradients` and `losses` can do many clients at once."""

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of arrays that training changes and no gradient does."""

    def inputs(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Inputs, shape (n, *shape), as the model takes them."""

    def initial(self) -> Named:
        """The arrays that everybody begins with."""

    def outputs(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """What it says of n inputs: scores (n, classes), or numbers (n,)."""

    def loss_of(self, outputs: Array, targets: NDArray[Any]) -> float:
        """The mean loss of what it says of n inputs."""

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """The gradient of a batch, as it is trained, and the buffers after it."""

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The gradient of every client."""

    def losses(self, models: Array, stack: Stack) -> Array:
        """The loss of every client."""

    def state_dict(self, model: Array, buffers: Named) -> dict[str, NDArray[Any]]:
        """All arrays by name, as a torch module loads them."""


def measured(problem: Problem, outputs: Array, targets: NDArray[Any]) -> Mapping[str, float]:
    """The metrics of predictions, but for the loss; nan where they mean nothing."""
    if not len(targets):
        return dict.fromkeys((name for name in problem.metrics if name != "loss"), float("nan"))
    if problem.kind == "regression":
        return {"r2": _r2(outputs.astype(np.float64), targets)}
    found = {"accuracy": float((outputs.argmax(axis=1) == targets).mean())}
    if problem.outputs == 2:
        found["auc"] = _auc(outputs[:, 1].astype(np.float64) - outputs[:, 0], targets == 1)
    return found


def _r2(numbers: Array, targets: NDArray[Any]) -> float:
    """The share of the targets' variance that is explained; below 0: worse than their mean."""
    around = np.square(targets - targets.mean()).sum()
    return float(1 - np.square(targets - numbers).sum() / around) if around > 0 else float("nan")


def _auc(scores: Array, positive: NDArray[Any]) -> float:
    """How often a positive example scores higher than a negative one; ties count half."""
    ordered = np.sort(scores[~positive])
    own = scores[positive]
    if not len(ordered) or not len(own) or not np.isfinite(scores).all():
        return float("nan")
    below = np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right")
    return float(below.mean() / (2 * len(ordered)))
