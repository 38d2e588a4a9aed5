"""Minibatch stochastic gradient descent over local epochs: for models too large for anything else.

From the task's initial model, in epoch e = 0, 1, ..., over a random partition of the examples into
batches B,

    w <- w - step / (1 + e)^decay * (mean gradient over B),

or such a step of an optimiser of torch (`tagma.client.training`); the answer is the last w. It
needs the task's gradient on some of its rows and nothing more, so it works for every task. With a
constant step it ends at a distance of the order of the step from the minimiser; with decay = 1 and
enough epochs it converges. `step` must be below 2 over the largest curvature of a batch, which for
N(0, I_d) inputs and b examples is about (1 + sqrt(d / b))^2. With step = auto it is 1 over that of
all examples.

Cost: an epoch costs one gradient of all examples, O(n d) for a linear model.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from zlib import crc32

import numpy as np
from annotated_types import Ge, Le

from tagma.client.solvers.solution import Solution
from tagma.client.training import LocalTraining
from tagma.rng import stream
from tagma.step_size import StepSize
from tagma.tasks.task import Data, Task, layout_of


def sgd(
    task: Task,
    data: Data,
    *,
    step: StepSize,
    batch: Annotated[int, Ge(1)] | None,
    epochs: Annotated[int, Ge(1)],
    decay: Annotated[float, Ge(0), Le(1)],
    optimiser: Mapping[str, Any] | None = None,
    seed: int,
    device: str = "cpu",
) -> Solution:
    """The model after all epochs; a step that is too long ends it at the last finite one.

    The order of the examples is drawn from the seed and the examples: every client has its own,
    and a run can be repeated.
    """
    training = sgd_training(
        step=step, batch=batch, epochs=epochs, decay=decay, optimiser=optimiser, device=device
    )
    layout, initial = layout_of(task), task.initial()
    found = training(
        task,
        layout.vector(initial),
        data,
        sgd_stream(seed, data),
        buffers={part.name: initial[part.name] for part in layout.buffers},
    )
    return Solution(found.model, found.steps, found.stopped, found.buffers)


def sgd_training(
    *,
    step: StepSize,
    batch: int | None,
    epochs: int,
    decay: float,
    optimiser: Mapping[str, Any] | None,
    device: str,
) -> LocalTraining:
    """The local training that the solver consists of."""
    return LocalTraining(
        learning_rate=step, epochs=epochs, batch_size=batch, decay=decay, optimiser=optimiser,
        device=device,
    )  # fmt: skip


def sgd_stream(seed: int, data: Data) -> np.random.Generator:
    """The random stream of a client with these examples."""
    return stream(seed, "sgd", crc32(np.ascontiguousarray(data.inputs).tobytes()))
