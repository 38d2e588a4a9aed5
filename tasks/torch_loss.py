"""Tasks that write their loss only: the gradient follows by torch's automatic differentiation.

    class LogCosh(TorchLoss):
        def torch_loss(self, model, inputs, targets):
            return torch.log(torch.cosh(inputs @ model - targets)).mean()

Numbers are float64 throughout. Torch is imported when the first loss is computed, never by tasks
that write their gradient themselves in NumPy. A gradient costs about three losses.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from tagma.arrays import Array
from tagma.tasks.task import Data

if TYPE_CHECKING:
    from torch import Tensor


class TorchLoss(ABC):
    """Base of such tasks; the rest of `Task` is theirs to write."""

    @abstractmethod
    def torch_loss(self, model: "Tensor", inputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean loss over the examples, as a scalar of torch operations."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss."""
        import torch

        with torch.no_grad():
            return float(self.torch_loss(torch.tensor(model), *_tensors(data)))

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""
        import torch

        point = torch.tensor(model, requires_grad=True)
        (gradient,) = torch.autograd.grad(self.torch_loss(point, *_tensors(data)), point)
        return gradient.numpy()


def _tensors(data: Data) -> "tuple[Tensor, Tensor]":
    """The examples as tensors on the same memory, or on a copy where that is read-only."""
    import torch

    inputs, targets = (np.require(a, requirements="W") for a in (data.inputs, data.targets))
    return torch.from_numpy(inputs), torch.from_numpy(targets)
