"""How a client trains a model on its own data: `optimiser=local`, solvers, personalisation.

From the received model w_0, over batches B of the client's examples,

    w <- w - learning_rate / (1 + e)^decay * (mean gradient over B + proximal * (w - w_0)),

where e = 0, 1, ... counts passes over the examples, and a learning rate `auto` is 1 / L of the
client's own data (`tagma.tasks.smoothness`); or by an optimiser of torch, on the model as one
vector, on the device of the settings. In every pass the examples come in a new random order;
without a batch size, a step takes all of them and nothing is random. `proximal` is FedProx's pull
towards the received model.

Cost: a pass costs one gradient of all examples.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
from math import isfinite
from typing import Annotated, Any, cast

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.kept import kept
from tagma.layout import Named
from tagma.plugins import TARGET, build, locate
from tagma.settings import Settings
from tagma.step_size import AUTO, StepSize, step_of
from tagma.tasks.smoothness import smoothness
from tagma.tasks.task import Data, Task, WithBuffers
from tagma.tasks.torch_loss import device_of, torch_on_one_thread

Count = Annotated[int, Ge(1)]
Descent = Callable[[Array, Array, float], Array]
"""From model, gradient and learning rate to the next model."""
_OPTIMISER = "training.optimiser"


@dataclass(frozen=True)
class Trained:
    """A model after local training."""

    model: Array
    buffers: Named | None
    """Those of the model after it, where it has some."""
    steps: int
    stopped: str
    """Why training stopped."""


@kept(maxsize=32)
def training_of(settings: Settings) -> "LocalTraining":
    """The training that the settings choose."""
    training: LocalTraining = build("training", settings.choice("training"), device=settings.device)
    return training


@kept(maxsize=32)
def personalisation_of(settings: Settings) -> "LocalTraining | None":
    """The same, but for `personalise.steps` steps; None where these are 0."""
    if not settings.personalise.steps:
        return None
    instead = {"epochs": None, "steps": settings.personalise.steps}
    training: LocalTraining = build(
        "training", {**settings.choice("training"), **instead}, device=settings.device
    )
    return training


class LocalTraining:
    """`epochs` passes over the examples or, where that is None, `steps` steps."""

    def __init__(
        self,
        *,
        learning_rate: StepSize,
        epochs: Count | None = None,
        steps: Count | None = None,
        batch_size: Count | None = None,
        decay: Annotated[float, Ge(0)] = 0.0,
        optimiser: Mapping[str, Any] | None = None,
        device: str = "cpu",
    ) -> None:
        if epochs is None and steps is None:
            raise SettingError("training.epochs", epochs, "needs a number, or training.steps one")
        if learning_rate == AUTO and optimiser is not None:
            raise SettingError(
                "training.learning_rate", AUTO, f"must be a number with {_OPTIMISER}"
            )
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.steps = steps
        self.batch_size = batch_size
        self.decay = decay
        self.plain = optimiser is None
        """Whether steps are those of gradient descent."""
        self.descent = (
            _gradient_descent
            if optimiser is None
            else _torch_descent(optimiser, float(learning_rate), device_of(device))
        )
        """Begins anew with every model."""

    def __call__(
        self,
        task: Task,
        model: Array,
        data: Data,
        random: np.random.Generator,
        *,
        proximal: float = 0.0,
        buffers: Named | None = None,
    ) -> Trained:
        """The model after training; a step that is too long ends it at the last finite one.

        `random` decides the order of the examples; `buffers` are those of a model that has some.
        """
        received, steps = model, 0
        descend, first_rate = self.descent(model), self.first_rate(task, data)
        gradient = _gradient_with(task, buffers)
        for epoch, rows in self.orders(len(data), random):
            batch = data if rows is None else Data(data.inputs[rows], data.targets[rows])
            slope, after = gradient(model, buffers, batch)
            if proximal:
                slope = slope + proximal * (model - received)
            moved = descend(model, slope, self.rate(epoch, first_rate))
            steps += 1
            if not isfinite(np.vdot(moved, moved)):
                return Trained(model, buffers, steps, "diverged")
            model, buffers = moved, after
        reason = "all steps" if self.epochs is None else "end of the last epoch"
        return Trained(model, buffers, steps, reason)

    def orders(
        self, examples: int, random: np.random.Generator
    ) -> Iterator[tuple[int, Labels | None]]:
        """The epoch of every step and the rows of its batch, None for all.

        There is no step for a client without examples.
        """
        if not examples:
            return iter(())
        passes = count() if self.epochs is None else range(self.epochs)
        steps = ((epoch, rows) for epoch in passes for rows in self._epoch(examples, random))
        return islice(steps, self.steps if self.epochs is None else None)

    def _epoch(self, examples: int, random: np.random.Generator) -> Iterator[Labels | None]:
        if self.batch_size is None:
            yield None
            return
        order = random.permutation(examples)
        for first in range(0, examples, self.batch_size):
            yield order[first : first + self.batch_size]

    def first_rate(self, task: Task, data: Data) -> float:
        """The learning rate of the first epoch: 1 / L of the client's data if it is `auto`."""
        if self.learning_rate == AUTO:
            return step_of([smoothness(task, data)])
        return self.learning_rate

    def rate(self, epoch: int, first: float) -> float:
        """The learning rate of an epoch."""
        return first / (1 + epoch) ** self.decay


def _gradient_with(
    task: Task, buffers: Named | None
) -> Callable[[Array, Named | None, Data], tuple[Array, Named | None]]:
    """The gradient of a batch, and the buffers after it."""
    if buffers:
        return cast(WithBuffers, task).step  # type: ignore[return-value]
    return lambda model, _, batch: (task.gradient(model, batch), buffers)


def _gradient_descent(model: Array) -> Descent:
    return lambda model, gradient, rate: model - rate * gradient


def _torch_descent(
    settings: Mapping[str, Any], learning_rate: float, device: str
) -> Callable[[Array], Descent]:
    """An optimiser of torch that begins anew with every model; its settings are tried at once."""
    torch = torch_on_one_thread()
    options = {key: value for key, value in settings.items() if key != TARGET}
    optimiser = locate(str(settings.get(TARGET, "")), f"{_OPTIMISER}.{TARGET}")

    def begin(model: Array) -> Descent:
        point = torch.tensor(model, device=device).requires_grad_()
        stepper = optimiser([point], lr=learning_rate, **options)

        def descend(model: Array, gradient: Array, rate: float) -> Array:
            for group in stepper.param_groups:
                group["lr"] = rate
            point.grad = torch.from_numpy(gradient).to(device)
            stepper.step()
            return point.detach().cpu().numpy().copy()

        return descend

    try:
        begin(np.ones(2))(np.ones(2), np.ones(2), learning_rate)
    except Exception as error:  # whatever an optimiser thinks of its settings
        reason = " ".join(str(error).split())
        raise SettingError(_OPTIMISER, dict(settings), f"does not work ({reason})") from None
    return begin
