"""Points and the geometry of their affine combinations.

Every centre that a Lloyd step can produce is an affine combination sum_i a_i p_i of the m points,
so a batch of centres is a matrix A of weights, one row each, and all distances follow from the
products A P P^T. Where m is not much larger than d, these use one shared m x m Gram matrix, and
the cost of clustering does not grow with d any more.

Points are centred at their coordinate-wise median first. Without that, distances that are small
beside the common offset of the points would be lost to cancellation.
"""

import numpy as np

from tagma.arrays import Array

_ROUNDING = 64 * np.finfo(np.float64).eps
"""Relative accuracy of a squared distance."""


class Points:
    """m points in R^d; building costs O(m^2 d) when m <= 2 d, else O(m d)."""

    def __init__(self, points: Array) -> None:
        self.origin = np.median(points, axis=0)
        self.centred = points - self.origin
        self.squares = np.einsum("ij,ij->i", self.centred, self.centred)
        m, d = points.shape
        self.mean = np.full(m, 1 / m)  # as weights
        self._gram = self.centred @ self.centred.T if m <= 2 * d else None

    def __len__(self) -> int:
        return len(self.centred)

    def products(self, weights: Array) -> Array:
        """A P P^T for weights A of shape (..., m)."""
        if self._gram is not None:
            return weights @ self._gram
        return (weights @ self.centred) @ self.centred.T

    def squared_distances(self, weights: Array, products: Array | None = None) -> Array:
        """||sum_i a_i p_i - p_j||^2 for every row a of A and point j.

        `products` is A P P^T, where known already. Values that are rounding errors only are exactly
        0.
        """
        products = self.products(weights) if products is None else products
        norms = np.einsum("...i,...i->...", weights, products)[..., None]
        size = self.squares + norms
        squared = size - 2 * products
        squared[squared <= _ROUNDING * size] = 0
        return squared

    def combine(self, weights: Array) -> Array:
        """The points that weights (which sum to 1 along the last axis) stand for."""
        return weights @ self.centred + self.origin
