"""Minibatch stochastic gradient descent over local epochs: for models too large for anything else.

From w = 0, in epoch e = 0, 1, ..., over a random partition of the examples into batches B,

    w <- w - step / (1 + e)^decay * (mean gradient over B),

and the answer is the last w. It needs the task's gradient on some of its rows and nothing more, so
it works for every task. With a constant step it ends at a distance of the order of the step from
the minimiser; with decay = 1 and enough epochs it converges. `step` must be below 2 over the
largest curvature of a batch, which for N(0, I_d) inputs and b examples is about
(1 + sqrt(d / b))^2.

Cost: an epoch costs one gradient of all examples, O(n d) for a linear model.
"""

from math import isfinite
from typing import Annotated
from zlib import crc32

import numpy as np
from annotated_types import Ge, Gt, Le

from tagma.client.solvers.solution import Solution
from tagma.rng import stream
from tagma.tasks.task import Data, Task


def sgd(
    task: Task,
    data: Data,
    *,
    step: Annotated[float, Gt(0)],
    batch: Annotated[int, Ge(1)],
    epochs: Annotated[int, Ge(1)],
    decay: Annotated[float, Ge(0), Le(1)],
    seed: int,
) -> Solution:
    """The model after all epochs; a step that is too long ends it at the last finite one.

    The order of the examples is drawn from the seed and the examples: every client has its own,
    and a run can be repeated.
    """
    model = np.zeros(task.dim)
    examples = len(data.targets)
    random = stream(seed, "sgd", crc32(np.ascontiguousarray(data.inputs).tobytes()))
    steps = 0
    for epoch in range(epochs):
        order = random.permutation(examples)
        for first in range(0, examples, batch):
            rows = order[first : first + batch]
            gradient = task.gradient(model, Data(data.inputs[rows], data.targets[rows]))
            moved = model - step / (1 + epoch) ** decay * gradient
            steps += 1
            if not isfinite(np.vdot(moved, moved)):
                return Solution(model, steps, "diverged")
            model = moved
    return Solution(model, steps, "end of the last epoch")
