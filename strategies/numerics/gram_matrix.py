"""Distances and averages of rows, from one centred Gram matrix.

    G = Y Y^T,  Y = rows - origin        ||sum_i a_i x_i - x_j||^2 = a G a - 2 (a G)_j + G_jj

for weights a that sum to 1. G is summed over blocks of columns, in double precision between blocks,
so it costs one pass over the rows, O(m^2 d) operations of the matrix product and a few MB.

Without centring, distances that are small beside the common offset of the rows are lost to
cancellation. The origin is 0 where some columns say that the rows are no farther from it than from
each other, which saves copying them, else the median of five rows. Whether it was good is seen from
G itself. If none was, because Byzantine clients were among the five, or if a row is so far out that
squares overflow or others vanish beside it, G is made with care, from rows that are `DrawnIn`. A
row of 1e30 is an outlier like any other then.

Blocks of float32 are multiplied in float32, which leaves distances an error of some 1e-7 of the
rows' distances from the origin. Few entries, where it costs nothing, and those of `exact`
geometries are multiplied in float64.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.affine_combinations import NEAR, Affine
from tagma.strategies.numerics.drawn_in_rows import FARTHEST, DrawnIn
from tagma.strategies.numerics.kernels.middle_mean import middle_mean
from tagma.strategies.numerics.row_blocks import NotFiniteError, Rows, usual_width

_SAMPLE = 5
"""Rows whose median is the first origin."""
_WORST_OFFSET = 64.0
"""An origin is good if it is at most this many times as far from the rows, in squared distance,
as they are from each other."""
_NO_OFFSET, _LITTLE_OFFSET = 1.0, 4.0
"""The same for 0: in some columns, for which it is 1/2 if there is no offset, and in all."""
_SOME, _SLICES, _SLICE = 128, 16, 256
"""How many rows, in how many slices of how many columns, are looked at for an offset at most."""
_FEW = 2**15
"""Up to this many entries are multiplied in float64."""


class Geometry(Affine):
    """m rows; building costs one Gram matrix, O(m^2 d), or up to three and a median in bad cases.

    Rows that are not checked yet raise a `NotFiniteError` if they may not be finite.
    """

    def __init__(self, rows: Rows, *, exact: bool = False) -> None:
        self._rows = rows
        self._drawn: DrawnIn | None = None
        self.unit = 1.0
        """What a length of 1 in `gram` stands for."""
        self.exact = exact or rows.dtype == np.float64 or len(rows) * rows.dim <= _FEW
        """Whether products are of float64."""
        dtype = np.dtype(np.float64) if self.exact else rows.dtype
        self.rounding = 8 * float(np.finfo(dtype).eps)
        with np.errstate(all="ignore"):
            gram = _plain_gram(rows, dtype)
            if gram is None:
                self._drawn = DrawnIn(rows)
                self.unit = self._drawn.unit
                gram = gram_of(len(rows), (part for _, part in self._drawn.blocks(dtype)))
        self.gram = gram
        self.squares = self.gram.diagonal().copy()

    def products(self, weights: Array) -> Array:
        """A G for weights A of shape (..., m)."""
        return weights @ self.gram

    def tells(self, weights: Array) -> bool:
        """Whether distances from this average, weights (m,), are known well."""
        return self.exact or bool((self.shares(weights) >= NEAR).all())

    def pairwise(self) -> Array:
        """Squared distances between the rows, shape (m, m), in squared units; 0 from itself."""
        squared = self._differences(self.squares[:, None] + self.squares, self.gram)
        np.fill_diagonal(squared, 0)
        return squared

    def combine(self, weights: Array) -> Array:
        """The average that weights, which sum to 1, stand for; shape (d,)."""
        return (self._rows if self._drawn is None else self._drawn).combine(weights)


def gram_of(m: int, blocks: Iterable[Array]) -> Array:
    """Y Y^T from blocks of the columns of Y, which has m rows."""
    gram = np.zeros((m, m))
    for block in blocks:
        gram += block @ block.T
    return gram


def _plain_gram(rows: Rows, dtype: np.dtype[np.float64]) -> Array | None:
    """G around an origin that costs little; None if there is no good one."""
    if dtype == rows.dtype and rows.multiplies_fast and has_no_offset(rows):
        gram = _looked_at(gram_of(len(rows), _as_they_are(rows)), rows)
        if _offset(gram) <= _LITTLE_OFFSET:
            return gram
    gram = _looked_at(gram_of(len(rows), _near_sample(rows, dtype)), rows)
    return gram if _offset(gram) <= _WORST_OFFSET else None


def _looked_at(gram: Array, rows: Rows) -> Array:
    """The matrix, if it is finite or the rows are known to be."""
    if not rows.checked and not np.isfinite(gram.diagonal()).all():
        raise NotFiniteError
    return gram


def _offset(gram: Array) -> float:
    """How far the rows are from the origin, in distances between them, all squared.

    Infinite if that cannot be told from this matrix.
    """
    m = len(gram)
    squares = gram.diagonal()
    typical = typical_square(squares)
    if typical is None:
        return np.inf
    if m == 1:
        return 0.0
    apart = (squares[:, None] + squares - 2 * gram).ravel()
    # More than a quarter of all pairs are honest if more than half of the rows are. The least m
    # entries are those of rows with themselves.
    quarter = m + (m * m - m) // 4
    near = float(np.partition(apart, quarter)[quarter])
    return typical / near if near > 0 else np.inf


def typical_square(squares: Array) -> float | None:
    """The typical one of the rows' squared lengths; None if they cannot be multiplied without loss.

    Where squares are finite and not too large, products are, too.
    """
    middle = len(squares) // 2
    typical, largest = float(np.partition(squares, middle)[middle]), float(squares.max())
    return typical if 4.0**-FARTHEST <= typical <= largest <= 4.0**FARTHEST else None


def has_no_offset(rows: Rows) -> bool:
    """Whether 0 is a good origin, as far as some rows and columns tell; False for few columns."""
    width = min(_SLICE, rows.dim // _SLICE)
    if width == 0:
        return False
    starts = np.linspace(0, rows.dim - width, _SLICES, dtype=int).tolist()
    step = -(-len(rows) // _SOME)
    some = np.hstack([rows.block(start, start + width)[::step] for start in starts])
    return _offset(_looked_at(some @ some.T, rows)) <= _NO_OFFSET


def _as_they_are(rows: Rows) -> Iterator[Array]:
    return (block for _, block in rows.blocks(usual_width(len(rows))))


def _near_sample(rows: Rows, dtype: np.dtype[np.float64]) -> Iterator[Array]:
    """The rows around the median of some of them; each block is valid until the next."""
    m = len(rows)
    width = min(usual_width(m), rows.dim)
    centred = np.empty((m, width), dtype)
    for _, block in rows.blocks(width):
        yield np.subtract(
            block, middle_of_some(block), out=centred[:, : block.shape[1]], dtype=dtype
        )


def middle_of_some(block: Array) -> Array:
    """The median of five rows, which is near most of them unless some of the five are Byzantine."""
    step = -(-len(block) // _SAMPLE)
    sample = Rows(np.ascontiguousarray(block[::step]))
    return middle_mean(sample, (len(sample) - 1) // 2)
