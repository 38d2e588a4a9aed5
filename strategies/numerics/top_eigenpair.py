"""The direction in which rows spread most: the top eigenpair of their covariance.

For n rows in R^d with p = min(n, d) <= 500, from the p x p matrix X X^T or X^T X; the former is
made once and serves every subset. Beyond, by Lanczos on products with X alone. A d x d matrix is
never formed when d is large.
"""

from math import sqrt

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from tagma.arrays import Array, Labels
from tagma.strategies.numerics.gram_matrix import Geometry, around_median
from tagma.strategies.numerics.row_blocks import Rows

_DENSE = 500
"""Up to this size a symmetric matrix is decomposed as a whole."""

_TOLERANCE = 1e-8
"""Relative accuracy of Lanczos."""

_FARTHEST = 2.0**40
"""Rows beyond so many typical lengths are shortened to that: farther out they would leave nothing
of the digits of the others."""


class Spread:
    """n rows; building costs O(n^2 d) when n <= min(d, 500), else O(n d log n)."""

    def __init__(self, rows: Rows) -> None:
        self.dimension = rows.dim
        self.geometry: Geometry | None = None
        """Where the rows are few: all their distances."""
        if len(rows) <= min(rows.dim, _DENSE):
            self.geometry = Geometry(rows)
            factors = _shorten(np.sqrt(self.geometry.squares))
            self._gram = factors[:, None] * self.geometry.gram * factors
        else:
            # Near a robust origin, sums over a subset do not lose digits to rows outside of it.
            self._rows = np.hstack([block for _, block in around_median(rows)])
            self._rows *= _shorten(np.linalg.norm(self._rows, axis=1))[:, None]

    def leading(self, subset: Labels) -> tuple[float, Array]:
        """The largest standard deviation in any direction, and the projections on that direction.

        Both of the rows numbered in `subset`, around their mean; the variance divides by their
        number.
        """
        if self.geometry is not None:
            gram = self._gram[np.ix_(subset, subset)]
            means = (gram / len(gram)).sum(axis=0)
            spread, direction = _top(gram - means - means[:, None] + means.mean())
            return spread / sqrt(len(subset)), spread * direction
        rows = self._rows[subset]
        rows -= rows.mean(axis=0)
        if self.dimension <= _DENSE:
            spread, direction = _top(rows.T @ rows)
        else:
            spread, direction = _top_by_lanczos(rows)
        return spread / sqrt(len(subset)), rows @ direction


def _shorten(lengths: Array) -> Array:
    """What rows of these lengths are multiplied by; 1 for all that are not astronomic."""
    limit = _FARTHEST * np.median(lengths)
    return np.minimum(1, limit / np.maximum(lengths, limit)) if limit > 0 else np.ones(len(lengths))


def _top(matrix: Array) -> tuple[float, Array]:
    """The root of the largest eigenvalue of a positive semidefinite matrix, and its eigenvector."""
    peak = matrix.diagonal().max()
    # Numbers too small to be divided by each other give no finite matrix: they do not differ.
    if not peak > 0 or not np.isfinite(matrix).all():
        return 0.0, np.zeros(len(matrix))
    last = len(matrix) - 1
    values, vectors = eigh(matrix / peak, subset_by_index=(last, last), check_finite=False)
    return float(np.sqrt(values[0]) * np.sqrt(peak)), vectors[:, 0]


def _top_by_lanczos(rows: Array) -> tuple[float, Array]:
    """The same for X^T X, from products with X on its shorter side; always from the same start."""
    peak = np.abs(rows).max()
    if peak == 0:
        return 0.0, np.zeros(rows.shape[1])
    rows = rows / peak
    short = rows if len(rows) <= rows.shape[1] else rows.T
    operator = LinearOperator(
        (len(short), len(short)),
        matvec=lambda vector: short @ (short.T @ vector),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(len(short))
    values, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=_TOLERANCE)
    direction = vectors[:, 0]
    if short is rows:
        direction = short.T @ direction
        direction /= np.linalg.norm(direction)
    return float(np.sqrt(values[0]) * peak), direction
