"""Losses that are quadratic functions of the model, prepared once for all clients.

The mean of (<x, w> - y)^2 / 2 over a client's examples, and of ||w - x||^2 / 2, is

    l + <r, w - a> + (w - a)^T H (w - a) / 2,   gradient r + H (w - a),

around any point a, with the loss l, the gradient r and the Hessian H = X^T X / n there (the
identity for the second). Around 0 this would subtract large numbers from each other wherever the
gradient is small. So a is near the client's own minimiser: both terms of the gradient are small
there, and none of the loss is negative but for r, which is about 0. The residuals at a are computed
from the examples, so r and l are exact even where a is a poor minimiser, because H is singular.

Cost: O(n d^2 + d^3) per client to prepare, then O(d^2) for a gradient or a loss instead of O(n d),
whatever n is. H takes d^2 numbers per client, less than the examples where n > d.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels
from tagma.tasks.task import Data, LeastSquares, SquaredDistance, Task

_NEAR = 1e-6
_RIDGE = 1e-10
"""Of the mean eigenvalue of H: makes it invertible and moves the point by as little."""


@dataclass(frozen=True)
class Quadratics:
    """One quadratic loss for each of m clients."""

    points: Array
    """The point a of each, shape (m, d)."""
    values: Array
    """The loss there, shape (m,)."""
    slopes: Array
    """The gradient there, shape (m, d)."""
    hessians: Array | None
    """Shape (m, d, d); None: the identity."""

    def take(self, rows: Labels | slice | list[int]) -> "Quadratics":
        """Those of some clients, by their rows."""
        hessians = None if self.hessians is None else self.hessians[rows]
        return Quadratics(self.points[rows], self.values[rows], self.slopes[rows], hessians)

    def replaced(self, rows: Sequence[int], others: "Quadratics") -> "Quadratics":
        """The same with others in some rows."""
        if self.hessians is None or others.hessians is None:
            hessians = None
        else:
            hessians = self.hessians.copy()
            hessians[rows] = others.hessians
        points, values, slopes = self.points.copy(), self.values.copy(), self.slopes.copy()
        points[rows], values[rows], slopes[rows] = others.points, others.values, others.slopes
        return Quadratics(points, values, slopes, hessians)

    def gradients(self, models: Array) -> Array:
        """The gradient of every client's loss at its own model, shape (m, d)."""
        return self.slopes + self._bent(models - self.points)

    def losses(self, models: Array) -> Array:
        """The loss of every client at its own model, shape (m,)."""
        moved = models - self.points
        return self.values + np.einsum("ij,ij->i", self.slopes + self._bent(moved) / 2, moved)

    def _bent(self, moved: Array) -> Array:
        if self.hessians is None:
            return moved
        bent: Array = np.matmul(self.hessians, moved[..., None])[..., 0]
        return bent


def quadratics_of(task: Task, data: Sequence[Data]) -> Quadratics | None:
    """The losses of these clients; None where they are not quadratic or it would not pay.

    It pays for least squares where every client has more examples than coefficients, and for
    squared distances always, if every client has an example.
    """
    if isinstance(task, SquaredDistance) and all(len(each) for each in data):
        found = squared_distances(data)
    elif isinstance(task, LeastSquares) and all(len(d) > d.inputs.shape[1] for d in data):
        found = least_squares(data)
    else:
        return None
    return found if _is_right(found, task, data[0]) else None


def _is_right(found: Quadratics, task: Task, data: Data) -> bool:
    """Whether the first client has this loss; a class derived from such a task may change it."""
    first, model = found.take([0]), found.points[0] + 1
    value, slope = first.losses(model[None])[0], first.gradients(model[None])[0]
    near = _NEAR * float(np.abs(slope).max())
    right = np.allclose(slope, task.gradient(model, data), rtol=_NEAR, atol=near)
    return bool(right and np.isclose(value, task.loss(model, data), rtol=_NEAR))


def least_squares(data: Sequence[Data]) -> Quadratics:
    """The means of (<x, w> - y)^2 / 2."""
    hessians = np.stack([each.inputs.T @ each.inputs / len(each) for each in data])
    towards = np.stack([each.targets @ each.inputs / len(each) for each in data])
    ridges = _RIDGE * np.trace(hessians, axis1=1, axis2=2)[:, None, None] / hessians.shape[1]
    ridges = np.where(ridges > 0, ridges, 1)
    eye = np.eye(hessians.shape[1])
    points = np.linalg.solve(hessians + ridges * eye, towards[..., None])[..., 0]
    values, slopes = [], []
    for each, point in zip(data, points, strict=True):
        residuals = each.inputs @ point - each.targets
        values.append(residuals @ residuals / (2 * len(each)))
        slopes.append(residuals @ each.inputs / len(each))
    return Quadratics(points, np.array(values), np.stack(slopes), hessians)


def squared_distances(data: Sequence[Data]) -> Quadratics:
    """The means of ||w - x||^2 / 2: the point is the mean of the examples."""
    points = np.stack([each.inputs.mean(axis=0) for each in data])
    values = [
        np.square(each.inputs - point).sum() / (2 * len(each))
        for each, point in zip(data, points, strict=True)
    ]
    return Quadratics(points, np.array(values), np.zeros_like(points), None)
