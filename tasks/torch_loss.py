"""Tasks that write their loss only: the gradient follows by torch's automatic differentiation.

    class LogCosh(TorchLoss):
        def torch_loss(self, model, inputs, targets):
            return torch.log(torch.cosh(inputs @ model - targets)).mean()

Numbers are float64 throughout. Torch is imported when the first loss is computed, never by tasks
that write their gradient themselves in NumPy. A gradient costs about three losses.
"""

import os
from abc import ABC, abstractmethod
from functools import cache, cached_property
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.tasks.stack import Stack, Stackable
from tagma.tasks.task import Data
from tagma.tasks.torch_stack import in_parts, some_examples, vmap_works

if TYPE_CHECKING:
    from torch import Tensor


FOUND_THREADS: list[int] = []
"""How many threads torch had before, as soon as that is known."""


@cache
def torch_on_one_thread() -> ModuleType:
    """Torch, imported when it is first needed; one thread, unless OMP_NUM_THREADS says more.

    The gradients of one client are small: several threads take longer than one, and many clients
    share the cores already.
    """
    import torch

    FOUND_THREADS.append(torch.get_num_threads())
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)
    return torch


def device_of(device: str) -> str:
    """The device that a setting means, if it is there; torch is not imported for the processor."""
    if device == "cpu":
        return device
    found: bool = torch_on_one_thread().cuda.is_available()
    if device == "auto":
        return "cuda" if found else "cpu"
    if device != "cuda":
        raise SettingError("device", device, "must be cpu, cuda or auto")
    if not found:
        raise SettingError("device", device, "torch finds no GPU here; use device=cpu or auto")
    return device


class TorchLoss(ABC):
    """Base of such tasks; the rest of `Task` is theirs to write."""

    device: str = "cpu"
    """Where it computes, by `device_of`."""

    @abstractmethod
    def torch_loss(self, model: "Tensor", inputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean loss over the examples, as a scalar of torch operations."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss."""
        with torch_on_one_thread().no_grad():
            return float(self.torch_loss(self._tensor(model), *self._tensors(data)))

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""
        point = self._tensor(model).requires_grad_()
        loss = self.torch_loss(point, *self._tensors(data))
        (gradient,) = torch_on_one_thread().autograd.grad(loss, point)
        return gradient.cpu().numpy()

    @cached_property
    def stackable(self) -> bool:
        """Whether torch can compute this loss for many clients at once."""
        task = cast(Stackable, self)
        return vmap_works(task, some_examples(task))

    def gradients(self, models: Array, stack: Stack) -> Array:
        """`gradient` of every client."""
        func = torch_on_one_thread().func
        together = func.vmap(func.grad(self.torch_loss))
        found = np.zeros_like(models)
        return in_parts(together, self.gradient, self._tensor, models, stack, found)

    def losses(self, models: Array, stack: Stack) -> Array:
        """`loss` of every client."""
        torch = torch_on_one_thread()
        with torch.no_grad():
            found, together = np.full(len(models), np.nan), torch.func.vmap(self.torch_loss)
            return in_parts(together, self.loss, self._tensor, models, stack, found)

    def _tensor(self, array: Array) -> "Tensor":
        return torch_on_one_thread().tensor(array, device=self.device)

    def _tensors(self, data: Data) -> "tuple[Tensor, Tensor]":
        """The examples as tensors: on the same memory, or on a copy where that is read-only."""
        torch = torch_on_one_thread()
        inputs, targets = (np.require(a, requirements="W") for a in (data.inputs, data.targets))
        return tuple(torch.from_numpy(a).to(self.device) for a in (inputs, targets))
