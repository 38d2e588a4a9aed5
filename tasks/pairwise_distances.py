"""Squared distances between the rows of a feature matrix, block by block.

||x - y||^2 = ||x||^2 + ||y||^2 - 2 <x, y> as one matrix product of rows that carry their squared
norms, [-2 x, ||x||^2, 1] and [y, 1, ||y||^2]: a block of r x c distances costs 2 r c (d + 2)
operations at the speed of the BLAS, and nothing beside. The rows are centred, which changes no
distance and keeps the digits that the subtraction would lose, and divided by a power of two, which
is exact and keeps the squares in range.

The product may be computed in single precision. `slack` bounds its rounding error, and `lengths`
computes single distances in double precision from the features as they are: a comparison that the
slack leaves open is decided by it, so that results do not depend on blocks or precision.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array, Labels

Features = NDArray[np.floating[Any]]
"""A feature matrix (N, d) in single or double precision, one row per point."""

_CHUNK = 2**22
"""Numbers that a temporary array holds at most."""


class Pairwise:
    """Distances between any rows; keeps one centred copy of the features in `dtype`."""

    def __init__(self, features: Features, dtype: type[np.floating[Any]] = np.float32) -> None:
        self._features = features
        mean = features.mean(axis=0, dtype=np.float64)
        largest = max((np.abs(part - mean).max() for part in _chunks(features)), default=0.0)
        self._unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
        self._rows = np.empty(features.shape, dtype)
        self._squares = np.empty(len(features), dtype)
        start = 0
        for part in _chunks(features):
            rows = self._rows[start : start + len(part)]
            rows[:] = (part - mean) / self._unit
            self._squares[start : start + len(part)] = np.einsum(
                "ij,ij->i", rows, rows, dtype=np.float64
            )
            start += len(part)

    def __len__(self) -> int:
        return len(self._rows)

    def squared(self, left: Labels, right: Labels) -> Features:
        """Squared distances (r, c) of the points `left` and `right`, in units of `unit`^2."""
        one = np.ones(1, self._rows.dtype)
        d = self._rows.shape[1]
        extended = np.empty((len(left), d + 2), self._rows.dtype)
        np.multiply(self._rows[left], -2, out=extended[:, :d])
        extended[:, d], extended[:, d + 1] = self._squares[left], one
        other = np.empty((len(right), d + 2), self._rows.dtype)
        other[:, :d], other[:, d], other[:, d + 1] = self._rows[right], one, self._squares[right]
        return extended @ other.T

    @property
    def unit(self) -> float:
        """The length that is 1 in `squared`: a power of two."""
        return self._unit

    def slack(self, left: Labels, right: Labels) -> float:
        """A bound on the rounding error of every entry of `squared`.

        With the unit roundoff u, the product of d + 2 terms errs by at most (d + 2) u times the sum
        of their sizes, which is at most 2 (||x||^2 + ||y||^2); rounding the inputs adds 5 u times
        the latter.
        """
        norms = float(self._squares[left].max()) + float(self._squares[right].max())
        return float(np.finfo(self._rows.dtype).eps) * (self._rows.shape[1] + 5) * norms

    def lengths(self, left: Labels, right: Labels) -> Array:
        """The distance of each pair (left[i], right[i]), in double precision: O(d) a pair."""
        found = np.empty(len(left))
        step = max(1, _CHUNK // max(1, self._features.shape[1]))
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            differences = np.subtract(
                self._features[left[part]], self._features[right[part]], dtype=np.float64
            )
            found[part] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        return found


def _chunks(features: Features) -> list[Features]:
    """The features in runs of rows, each small."""
    rows = max(1, _CHUNK // max(1, features.shape[1]))
    return [features[start : start + rows] for start in range(0, len(features), rows)]
