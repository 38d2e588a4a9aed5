"""A small convolutional network: for each number of channels a 3 x 3 convolution and a halving.

    (Conv2d(3 x 3, same size), ReLU, MaxPool2d(2)) for each, Flatten, Linear, [ReLU, Linear].

Torch's own layers and first weights. Images too small to be halved any more keep their size.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, cast

from annotated_types import Ge

from tagma.tasks.models.model import Problem
from tagma.tasks.models.own_module import OwnModule
from tagma.tasks.torch_loss import torch_on_one_thread

if TYPE_CHECKING:
    from torch import nn

Count = Annotated[int, Ge(1)]


class SmallCNN(OwnModule):
    """A convolutional network for images; `hidden` are the units before the last layer, 0: none."""

    def __init__(
        self,
        *,
        problem: Problem,
        seed: int,
        channels: list[Count],
        hidden: Annotated[int, Ge(0)],
        device: str = "cpu",
    ) -> None:
        if len(problem.shape) != 3:
            raise ValueError("needs images; for tables use model=mlp or model=softmax")
        super().__init__(_maker(problem, channels, hidden), problem, seed=seed, device=device)


def _maker(problem: Problem, channels: list[int], hidden: int) -> "Callable[[], nn.Module]":
    def small_cnn() -> "nn.Module":
        parts = torch_on_one_thread().nn
        before, height, width = problem.shape
        layers = []
        for after in channels:
            layers += [parts.Conv2d(before, after, 3, padding=1), parts.ReLU()]
            before = after
            if min(height, width) >= 2:
                layers.append(parts.MaxPool2d(2))
                height, width = height // 2, width // 2
        layers.append(parts.Flatten())
        units = before * height * width
        if hidden:
            layers += [parts.Linear(units, hidden), parts.ReLU()]
            units = hidden
        return cast("nn.Module", parts.Sequential(*layers, parts.Linear(units, problem.outputs)))

    return small_cnn
