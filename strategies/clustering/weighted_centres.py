"""Points and the geometry of their affine combinations, for stage II.

Every centre that a Lloyd step can produce is an affine combination sum_i a_i p_i of the m points,
so a batch of centres is a matrix A of weights, one row each, and all distances follow from the
products A P P^T. Where m is not much larger than d, these use one shared m x m Gram matrix, and
the cost of clustering does not grow with d any more.

Points are centred at their coordinate-wise median first. Without that, distances that are small
beside the common offset of the points would be lost to cancellation.
"""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.affine_combinations import Affine
from tagma.strategies.numerics.gram_matrix import around_median, gram_of
from tagma.strategies.numerics.row_blocks import Rows


class Points(Affine):
    """m finite points in R^d; building costs O(m^2 d) when m <= 2 d, else O(m d log m)."""

    rounding = 64 * float(np.finfo(np.float64).eps)

    def __init__(self, points: Array) -> None:
        m, d = points.shape
        self._rows = Rows(points)
        blocks = (block for _, block in around_median(self._rows))
        self._gram: Array | None = None
        if m <= 2 * d:
            self._gram = gram_of(m, blocks)
            self.squares = self._gram.diagonal().copy()
        else:
            self._centred = np.hstack(list(blocks))
            self.squares = np.einsum("ij,ij->i", self._centred, self._centred)
        self.mean = np.full(m, 1 / m)  # as weights

    def products(self, weights: Array) -> Array:
        """A P P^T for weights A of shape (..., m)."""
        if self._gram is not None:
            return weights @ self._gram
        return (weights @ self._centred) @ self._centred.T

    def combine(self, weights: Array) -> Array:
        """The points that weights (which sum to 1 along the last axis) stand for."""
        return self._rows.combine(weights)
