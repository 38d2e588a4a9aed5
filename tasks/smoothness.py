"""How fast a client's gradient can change: the L of the step size 1 / L.

For a loss of linear scores it is known: the most that the loss bends in a score, times the largest
eigenvalue of X^T X / n. Elsewhere it is measured, as the largest eigenvalue of the Hessian at the
task's initial model, by the power method on differences of gradients. That one is exact for
quadratic losses; for others it holds near that model.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from scipy.linalg import eigvalsh

from tagma.arrays import Array
from tagma.tasks.task import Data, Task, layout_of

_STEPS = 50
_CLOSE = 1e-3
_APART = {"float32": 1e-2, "float64": 1e-4}
"""How far apart the models are whose gradients are compared."""


@runtime_checkable
class WithSmoothness(Protocol):
    """A task that knows how fast gradients of its loss can change."""

    def smoothness(self, data: Data) -> float:
        """The largest eigenvalue that the Hessian of the mean loss has anywhere, or a bound."""


def smoothness(task: Task, data: Data) -> float:
    """L of one client's mean loss; 0 where it has no examples."""
    if not len(data):
        return 0.0
    if isinstance(task, WithSmoothness):
        return task.smoothness(data)
    return _measured(task, data)


def largest_eigenvalue(inputs: Array) -> float:
    """Of X^T X / n, for X of n rows."""
    gram = inputs @ inputs.T if len(inputs) < inputs.shape[1] else inputs.T @ inputs
    last = len(gram) - 1
    (found,) = eigvalsh(gram, subset_by_index=[last, last], check_finite=False)
    return float(found) / len(inputs)


def _measured(task: Task, data: Data) -> float:
    start = layout_of(task).vector(task.initial())
    apart = _APART.get(start.dtype.name, _APART["float64"]) * max(1.0, float(np.linalg.norm(start)))
    direction = np.random.default_rng(0).normal(size=start.shape).astype(start.dtype)
    found = 0.0
    for _ in range(_STEPS):
        direction *= apart / np.linalg.norm(direction)
        change = task.gradient(start + direction, data) - task.gradient(start - direction, data)
        before, found = found, float(np.linalg.norm(change)) / (2 * apart)
        if not np.isfinite(found) or found == 0:
            return 0.0
        if abs(found - before) <= _CLOSE * found:
            break
        direction = change
    return found
