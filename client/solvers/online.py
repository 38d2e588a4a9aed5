"""Online-to-batch conversion: a local model from one pass over a stream of examples.

Online gradient descent (Zinkevich, 2003) meets the examples one by one,

    w_{t+1} = w_t - eta_t grad f(w_t; x_t),   eta_t = step / (L_t t^decay),

from the task's initial model w_1, and the local model is the average of w_1, ..., w_n, the models
before each example (section "Stage I" of the paper). L_t, the longest squared input ||x_s||^2 up to
s = t, bounds the curvature of the loss of one example of a linear model, if its second derivative
by the score is at most 1; so step <= 1 is stable whatever the scale and the number of inputs. That
derivative is at most 1/4 for logistic regression, where step = 4 is the same.

decay = 0 is the rule for least squares: there the average converges like the minimiser itself,
with variance of order d / n (Bach and Moulines, 2013). For other losses it stays at a distance of
the order of eta, and decay = 1/2, Zinkevich's rule, converges, but slowly.

The model is biased towards the first one, which is 0 for linear models: with a constant eta and
N(0, I_d) inputs its expectation is w* times 1 - (1 - (1 - eta)^n) / (n eta), which for
n >> 1 / eta, about 1.5 d, is 1 - 1 / (n eta). See docs/stage1.md for figures.

Cost: O(d) per example and O(d) memory. The examples' order matters.
"""

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from tagma.arrays import Array
from tagma.client.solvers.solution import Solution
from tagma.tasks.task import Data, Task, layout_of


def online(
    task: Task,
    data: Data,
    *,
    step: Annotated[float, Gt(0)],
    decay: Annotated[float, Ge(0), Le(1)],
    normalise: bool,
) -> Solution:
    """The average iterate of one pass over the rows of the data."""
    start = layout_of(task).vector(task.initial())
    return average_iterate(
        task.gradient, examples(data), start, step=step, decay=decay, normalise=normalise
    )


def examples(data: Data) -> Iterator[Data]:
    """The rows one by one, each as data of a single example, without copying."""
    for row in range(len(data.targets)):
        yield Data(data.inputs[row : row + 1], data.targets[row : row + 1])


def average_iterate(
    gradient: Callable[[Array, Data], Array],
    stream: Iterable[Data],
    start: Array,
    *,
    step: float,
    decay: float,
    normalise: bool,
) -> Solution:
    """Reads the stream once and keeps none of it; `normalise=False` sets L_t = 1.

    A step that is too long sends the iterates to infinity. The pass then ends with the average
    of those that were finite.
    """
    model, average = start, np.zeros_like(start)
    longest = 0.0 if normalise else 1.0
    count = 0
    for example in stream:
        count += 1
        average += (model - average) / count
        if normalise:
            longest = max(longest, float(np.vdot(example.inputs, example.inputs)))
        if longest:
            model = model - step / (longest * count**decay) * gradient(model, example)
        if not isfinite(np.vdot(model, model)):
            return Solution(average, count, "diverged")
    return Solution(average, count, "end of the stream")
