"""Distances between points and their affine combinations, from products alone.

A combination sum_i a_i p_i with weights a that sum to 1 has the squared distance

    a P P^T a - 2 (a P P^T)_j + ||p_j||^2

to point j. So whatever is an average of points, such as a mean or a geometric median, can be sought
as a row of weights, without ever being written in coordinates.
"""

from abc import ABC, abstractmethod

import numpy as np

from tagma.arrays import Array, Labels

NEAR = 1 / 16
"""A squared distance below this share of those from the origin is not known well enough in float32:
the direction of its pull would be off by more than 1e-6."""


class Affine(ABC):
    """m centred points."""

    squares: Array
    """||p_j||^2, shape (m,)."""
    rounding: float
    """Relative accuracy of a squared distance."""

    def __len__(self) -> int:
        return len(self.squares)

    @abstractmethod
    def products(self, weights: Array) -> Array:
        """A P P^T for weights A of shape (..., m)."""

    def squared_distances(self, weights: Array, products: Array | None = None) -> Array:
        """||sum_i a_i p_i - p_j||^2 for every row a of A and point j.

        `products` is A P P^T, where known already.
        """
        products = self.products(weights) if products is None else products
        norms = np.einsum("...i,...i->...", weights, products)[..., None]
        return self._differences(self.squares + norms, products)

    def _differences(self, sizes: Array, products: Array) -> Array:
        """Squared distances from sums of two squared lengths and inner products of the two.

        What is a rounding error only is exactly 0.
        """
        squared = sizes - 2 * products
        squared[squared <= self.rounding * sizes] = 0
        return squared

    def shares(self, weights: Array) -> Array:
        """Squared distances from an average, weights (m,), as shares of those from the origin.

        To be exact, of the numbers that they are differences of: small ones have lost digits.
        """
        products = self.products(weights)
        sizes = self.squares + weights @ products
        return (sizes - 2 * products) / np.maximum(sizes, np.finfo(np.float64).tiny)


def unit_weights(chosen: Labels, count: int) -> Array:
    """The weights that stand for single points, a row for each that is chosen out of so many."""
    weights = np.zeros((len(chosen), count))
    weights[np.arange(len(chosen)), chosen] = 1
    return weights


class Some(Affine):
    """Some of the points only; costs their products."""

    def __init__(self, points: Affine, chosen: Labels) -> None:
        self._gram = points.products(unit_weights(chosen, len(points)))[:, chosen]
        self.squares = points.squares[chosen]
        self.rounding = points.rounding

    def products(self, weights: Array) -> Array:
        """A P P^T for weights A of shape (..., number of chosen points)."""
        return weights @ self._gram
