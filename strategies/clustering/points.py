"""Points and the geometry of their affine combinations, for stage II.

Every centre that a Lloyd step can produce is an affine combination sum_i a_i p_i of the m points,
so a batch of centres is a matrix A of weights, one row each, and all distances follow from the
products A P P^T. Where m is not much larger than d, these use one shared m x m Gram matrix, and
the cost of clustering does not grow with d any more.

Points are centred at their coordinate-wise median first. Without that, distances that are small
beside the common offset of the points would be lost to cancellation.
"""

import numpy as np

from strategies.aggregation.affine import Affine
from strategies.aggregation.middle import middle_mean
from strategies.aggregation.rows import Rows
from tagma.arrays import Array


class Points(Affine):
    """m points in R^d; building costs O(m^2 d) when m <= 2 d, else O(m d log m)."""

    rounding = 64 * float(np.finfo(np.float64).eps)

    def __init__(self, points: Array) -> None:
        m, d = points.shape
        self.origin = middle_mean(Rows(points), (m - 1) // 2)
        self.centred = points - self.origin
        self.squares = np.einsum("ij,ij->i", self.centred, self.centred)
        self.mean = np.full(m, 1 / m)  # as weights
        self._gram = self.centred @ self.centred.T if m <= 2 * d else None

    def products(self, weights: Array) -> Array:
        """A P P^T for weights A of shape (..., m)."""
        if self._gram is not None:
            return weights @ self._gram
        return (weights @ self.centred) @ self.centred.T

    def combine(self, weights: Array) -> Array:
        """The points that weights (which sum to 1 along the last axis) stand for."""
        return weights @ self.centred + self.origin
