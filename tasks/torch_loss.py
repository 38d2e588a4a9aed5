"""Tasks that write their loss only: the gradient follows by torch's automatic differentiation.

    class LogCosh(TorchLoss):
        def torch_loss(self, model, inputs, targets):
            return torch.log(torch.cosh(inputs @ model - targets)).mean()

Numbers are float64 throughout. Torch is imported when the first loss is computed, never by tasks
that write their gradient themselves in NumPy. A gradient costs about three losses.
"""

import os
from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from tagma.arrays import Array
from tagma.tasks.task import Data

if TYPE_CHECKING:
    from torch import Tensor


@cache
def torch_on_one_thread() -> ModuleType:
    """Torch, imported when it is first needed; one thread, unless OMP_NUM_THREADS says more.

    The gradients of one client are small: several threads take longer than one, and many clients
    share the cores already.
    """
    import torch

    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)
    return torch


class TorchLoss(ABC):
    """Base of such tasks; the rest of `Task` is theirs to write."""

    @abstractmethod
    def torch_loss(self, model: "Tensor", inputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean loss over the examples, as a scalar of torch operations."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss."""
        torch = torch_on_one_thread()
        with torch.no_grad():
            return float(self.torch_loss(torch.tensor(model), *_tensors(data)))

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""
        torch = torch_on_one_thread()
        point = torch.tensor(model, requires_grad=True)
        (gradient,) = torch.autograd.grad(self.torch_loss(point, *_tensors(data)), point)
        return gradient.numpy()


def _tensors(data: Data) -> "tuple[Tensor, Tensor]":
    """The examples as tensors on the same memory, or on a copy where that is read-only."""
    torch = torch_on_one_thread()
    inputs, targets = (np.require(a, requirements="W") for a in (data.inputs, data.targets))
    return torch.from_numpy(inputs), torch.from_numpy(targets)
