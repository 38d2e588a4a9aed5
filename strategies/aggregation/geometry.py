"""Distances and averages of rows, from one centred Gram matrix.

    G = Y Y^T,  Y = rows - origin        ||sum_i a_i x_i - x_j||^2 = a G a - 2 (a G)_j + G_jj

for weights a that sum to 1. G is summed over blocks of columns, in double precision between blocks,
so it costs one pass over the rows, O(m^2 d) operations of the matrix product and a few MB.

Without centring, distances that are small beside the common offset of the rows are lost to
cancellation. The origin is the median of five rows, which costs next to nothing; whether it was
good is seen from G itself. If it was not, because liars were among the five, or if a row is so far
out that squares overflow or others vanish beside it, G is made again with care: around the
coordinate-wise median of all rows, in units of the rows' typical distance from it, and with rows
beyond 2^40 such units drawn in to that distance. A row of 1e30 is an outlier like any other then.
"""

import numpy as np

from strategies.aggregation.affine import Affine
from strategies.aggregation.middle import middle_mean
from strategies.aggregation.rows import Rows
from tagma.arrays import Array

_SAMPLE = 5
"""Rows whose median is the first origin."""
_WORST_OFFSET = 64.0
"""An origin is good if it is at most this many times as far from the rows, in squared distance,
as they are from each other."""
_FARTHEST = 2.0**40
"""In typical distances; also the range in which squares of float32 are safe."""
_ENTRIES = 2**20
"""Of a block."""


class Geometry(Affine):
    """m rows; building costs one Gram matrix, O(m^2 d), or two and a median in bad cases."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._origin: Array | None = None
        self._factors = np.ones(len(rows))
        self.unit = 1.0
        """What a length of 1 in `gram` stands for."""
        self.rounding = 8 * float(np.finfo(rows.dtype).eps)
        with np.errstate(all="ignore"):
            self.gram = _gram(rows)
            if not self._good():
                self._with_care()
        self.squares = self.gram.diagonal().copy()

    def products(self, weights: Array) -> Array:
        """A G for weights A of shape (..., m)."""
        return weights @ self.gram

    def pairwise(self) -> Array:
        """Squared distances between the rows, shape (m, m), in squared units; 0 from itself."""
        squared = self.squared_distances(np.eye(len(self)), self.gram)
        np.fill_diagonal(squared, 0)
        return squared

    def combine(self, weights: Array) -> Array:
        """The average that weights, which sum to 1, stand for; shape (d,)."""
        drawn = weights * self._factors
        estimate = self._rows.combine(drawn)
        missing = weights.sum() - drawn.sum()
        if self._origin is not None and missing > 0:
            estimate += self._rows.dtype.type(missing) * self._origin
        return estimate

    def _good(self) -> bool:
        if not np.isfinite(self.gram).all():
            return False
        squares = self.gram.diagonal()
        typical, largest = float(np.median(squares)), float(squares.max())
        if not _FARTHEST**-2 <= typical <= largest <= _FARTHEST**2:
            return False
        apart = (squares[:, None] + squares - 2 * self.gram)[np.triu_indices(len(self.gram), 1)]
        if not len(apart):
            return True
        # More than a quarter of all pairs are honest if more than half of the rows are.
        near = float(np.partition(apart, len(apart) // 4)[len(apart) // 4])
        return typical <= _WORST_OFFSET * near

    def _with_care(self) -> None:
        self._origin = origin = middle_mean(self._rows, (len(self._rows) - 1) // 2)
        # Quarters, because the difference of two finite numbers can overflow.
        lengths = 4 * _lengths(self._rows, origin)
        self._factors, self.unit = drawn_in(lengths)
        self.gram = _gram(self._rows, origin, self._factors / self.unit)


def drawn_in(lengths: Array) -> tuple[Array, float]:
    """What to multiply rows of these lengths by, 1 except for those far out; and what is typical.

    Typical is the median of the lengths that are not 0.
    """
    positive = np.sort(lengths[lengths > 0])
    typical = float(positive[(len(positive) - 1) // 2]) if len(positive) else 1.0
    with np.errstate(all="ignore"):
        return np.minimum(1, _FARTHEST / (lengths / typical)), typical


def _gram(rows: Rows, origin: Array | None = None, factors: Array | None = None) -> Array:
    m, number = len(rows), rows.dtype.type
    gram = np.zeros((m, m))
    width = min(max(1024, _ENTRIES // m), rows.dim)
    centred = np.empty((m, width), rows.dtype)
    step = -(-m // _SAMPLE)
    for columns, block in rows.blocks(width):
        part = centred[:, : block.shape[1]]
        if factors is None or origin is None:
            sample = Rows(np.ascontiguousarray(block[::step]))
            np.subtract(block, middle_mean(sample, (len(sample) - 1) // 2), out=part)
        else:
            np.multiply(block, number(0.25), out=part)
            part -= origin[columns] * number(0.25)
            part *= (4 * factors).astype(rows.dtype)[:, None]
        gram += part @ part.T
    return gram


def _lengths(rows: Rows, origin: Array) -> Array:
    """A quarter of the largest entry of every row's difference to the origin."""
    lengths = np.zeros(len(rows))
    quarter = rows.dtype.type(0.25)
    for columns, block in rows.blocks(max(1024, _ENTRIES // len(rows))):
        difference = block * quarter - origin[columns] * quarter
        np.maximum(lengths, np.abs(difference).max(axis=1), out=lengths)
    return lengths
