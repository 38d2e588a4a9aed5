"""Any torch module as a model: `model._target_=package.module.Net`, its arguments beside it.

The module is made once, and its own weights, drawn from the run's seed, are what everybody begins
with. It is given inputs of the problem's shape and returns a score for each class, or a number. The
loss is the cross-entropy, or half the mean squared difference, unless `model.loss._target_` names a
function from outputs and targets to the mean loss.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.layout import Layout
from tagma.plugins import TARGET, locate
from tagma.tasks.models.model import Problem
from tagma.tasks.stack import Stackable
from tagma.tasks.task import Data
from tagma.tasks.torch_loss import device_of, torch_on_one_thread
from tagma.tasks.torch_module import TorchModule
from tagma.tasks.torch_stack import vmap_works

if TYPE_CHECKING:
    from torch import Tensor, nn

_FEW = 3


class OwnModule(TorchModule):
    """A torch module for a problem; it is tried on a few made-up inputs at once."""

    least_squares = False

    def __init__(
        self,
        make: "Callable[[], nn.Module]",
        problem: Problem,
        *,
        seed: int,
        device: str = "cpu",
        loss: Mapping[str, Any] | None = None,
    ) -> None:
        self.seed, self.device = seed, device_of(device)
        self._make, self._problem = make, problem
        self._loss = None if loss is None else _function(loss)
        self._made_up = _made_up(problem)
        self._try()

    def module(self) -> "nn.Module":
        """A new one."""
        return self._make()

    def inputs(self, raw: NDArray[Any]) -> NDArray[Any]:
        """As they are; numbers in single precision."""
        return raw.astype(np.float32) if raw.dtype == np.float64 else raw

    def torch_loss(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The user's, or the usual one."""
        if self._loss is not None:
            return cast("Tensor", self._loss(outputs, targets))
        if self._problem.kind == "classification":
            return super().torch_loss(outputs, targets)
        return torch_on_one_thread().nn.functional.mse_loss(outputs, targets) / 2

    def loss_of(self, outputs: Array, targets: NDArray[Any]) -> float:
        """The mean loss of outputs."""
        with torch_on_one_thread().inference_mode():
            return float(self.torch_loss(self._tensor(outputs), self._numbers(targets)))

    @cached_property
    def stackable(self) -> bool:
        """Whether torch can do it for many clients at once: no buffers, nothing random."""
        return not self.buffers and vmap_works(cast(Stackable, self), self._made_up)

    def _call(self, arrays: "dict[str, Tensor]", inputs: "Tensor") -> "Tensor":
        outputs = super()._call(arrays, inputs)
        count, problem = len(inputs), self._problem
        if problem.kind == "regression" and outputs.shape == (count, 1):
            return outputs[:, 0]
        wanted = (count,) if problem.kind == "regression" else (count, problem.outputs)
        if outputs.shape != wanted:
            raise ValueError(
                f"returns {tuple(outputs.shape)} for {count} inputs, and should return {wanted}"
            )
        return outputs

    def _try(self) -> None:
        """Whatever is wrong with a module or a loss is said before anything begins."""
        try:
            model = Layout.of(self.initial(), self.buffers).vector(self.initial())
            gradient, _ = self.step(model, {}, self._made_up)
            if not np.isfinite(gradient).all():
                raise ValueError("the gradient at its own weights is not finite")
        except SettingError:
            raise
        except Exception as error:
            kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
            reason = " ".join(str(error).split())
            name = getattr(self._make, "__name__", "model")
            shape = self._problem.shape
            said = f"cannot be used on inputs of shape {shape}: {kind}{reason}"
            raise SettingError(f"model.{TARGET}", name, said) from None


def _made_up(problem: Problem) -> Data:
    inputs = np.random.default_rng(0).random((_FEW, *problem.shape), dtype=np.float32)
    if problem.kind == "regression":
        return Data(inputs, inputs.reshape(_FEW, -1)[:, 0])
    return Data(inputs, np.arange(_FEW) % problem.outputs)


def _function(chosen: Mapping[str, Any]) -> Callable[..., Any]:
    """A loss of the user's with its settings."""
    found = locate(str(chosen.get(TARGET, "")), f"model.loss.{TARGET}")
    settings = {name: value for name, value in chosen.items() if name != TARGET}

    def loss(outputs: "Tensor", targets: "Tensor") -> "Tensor":
        return cast("Tensor", found(outputs, targets, **settings))

    return loss
