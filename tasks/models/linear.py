"""Linear regression: y = <w, x> + b with the loss (<w, x> + b - y)^2 / 2, in double precision.

The constant is the coefficient of a last input that is 1 for every example, so that everything that
knows least squares works on it: the closed form, Gram matrices, the reply check. The arrays are
those of `torch.nn.Linear(inputs, 1)`.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.layout import Layout, Named
from tagma.tasks.models.model import Problem
from tagma.tasks.stack import Stack
from tagma.tasks.task import Data


class Linear:
    """A linear model of a number; it begins at 0."""

    least_squares = True
    stackable = True
    buffers: tuple[str, ...] = ()

    def __init__(self, *, problem: Problem) -> None:
        if problem.kind != "regression":
            raise ValueError("predicts numbers; for classes use model=softmax")
        self._columns = prod(problem.shape)
        self._layout = Layout.of(self.initial())

    def inputs(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Each input as one vector, and a 1."""
        found = np.ones((len(raw), self._columns + 1))
        found[:, :-1] = raw.reshape(len(raw), self._columns)
        return found

    def initial(self) -> Named:
        """Zero."""
        return {"weight": np.zeros((1, self._columns)), "bias": np.zeros(1)}

    def outputs(self, model: Array, buffers: Named, inputs: NDArray[Any]) -> Array:
        """The numbers."""
        found: Array = inputs @ model
        return found

    def loss_of(self, outputs: Array, targets: NDArray[Any]) -> float:
        """Half the mean squared difference."""
        return float(np.square(outputs - targets).mean() / 2)

    def losses(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        return stack.means(np.square(_residuals(models, stack)) / 2)

    def step(self, model: Array, buffers: Named, data: Data) -> tuple[Array, Named]:
        """X^T (X w - y) / n."""
        return (data.inputs @ model - data.targets) @ data.inputs / len(data), {}

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        return stack.weighted_inputs(_residuals(models, stack))

    def state_dict(self, model: Array, buffers: Named) -> dict[str, NDArray[Any]]:
        """Weights and constant."""
        return self._layout.named(model)


def _residuals(models: Array, stack: Stack) -> Array:
    found: Array = np.matmul(stack.inputs, models[..., None])[..., 0] - stack.targets
    return found
