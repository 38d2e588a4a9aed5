"""Distances and averages of rows, from one centred Gram matrix.

    G = Y Y^T,  Y = rows - origin        ||sum_i a_i x_i - x_j||^2 = a G a - 2 (a G)_j + G_jj

for weights a that sum to 1. G is summed over blocks of columns, in double precision between blocks,
so it costs one pass over the rows, O(m^2 d) operations of the matrix product and a few MB.

Without centring, distances that are small beside the common offset of the rows are lost to
cancellation. The origin is 0 where some columns say that the rows are no farther from it than from
each other, which saves copying them, else the median of five rows. Whether it was good is seen from
G itself. If none was, because Byzantine clients were among the five, the origin is the
coordinate-wise median of all rows.

Blocks of float32 are multiplied in float32, which leaves distances an error of some 1e-7 of the
rows' distances from the origin. Few entries, where it costs nothing, rows whose squares are out of
the range of float32, and those of `exact` geometries are multiplied in float64. So are rows around
an origin that is given and far from them; around it, weights need not sum to 1.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.affine_combinations import NEAR, Affine
from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.row_blocks import Rows, usual_width

_SAMPLE = 5
"""Rows whose median is the first origin."""
_WORST_OFFSET = 64.0
"""An origin is good if it is at most this many times as far from the rows, in squared distance,
as they are from each other."""
_NO_OFFSET, _LITTLE_OFFSET = 1.0, 4.0
"""The same for 0: in some columns, for which it is 1/2 if there is no offset, and in all."""
_SOME, _SLICES, _SLICE = 128, 16, 256
"""How many rows, in how many slices of how many columns, are looked at for an offset at most."""
_SMALLEST, _LARGEST = 2.0**-80, 2.0**80
"""Squared lengths of rows that are safe in float32."""
_DOUBLE = np.dtype(np.float64)
_FEW = 2**15
"""Up to this many entries are multiplied in float64."""


class Geometry(Affine):
    """m rows; building costs one Gram matrix, O(m^2 d), or up to three and a median in bad cases.

    Raises a `NotFiniteError` for rows that are not checked yet and may not be usable.
    """

    def __init__(self, rows: Rows, *, exact: bool = False, origin: Array | None = None) -> None:
        self._rows = rows
        self.exact = exact or rows.dtype == np.float64 or len(rows) * rows.dim <= _FEW
        """Whether products are of float64."""
        dtype = np.dtype(np.float64) if self.exact else rows.dtype
        with np.errstate(all="ignore"):
            gram = _plain_gram(rows, dtype) if origin is None else _gram_around(rows, dtype, origin)
            if gram is None:
                self.exact = True
                blocks = around_median(rows) if origin is None else _around(rows, origin)
                gram = gram_of(len(rows), (block for _, block in blocks))
        self.gram = gram
        """Shape (m, m)."""
        self.rounding = 8 * float(np.finfo(np.float64 if self.exact else np.float32).eps)
        self.squares = self.gram.diagonal().copy()

    def products(self, weights: Array) -> Array:
        """A G for weights A of shape (..., m)."""
        return weights @ self.gram

    def is_accurate(self, weights: Array) -> bool:
        """Whether distances from this average, weights (m,), are known well."""
        return self.exact or bool((self.shares(weights) >= NEAR).all())

    def pairwise(self) -> Array:
        """Squared distances between the rows, shape (m, m); 0 from itself."""
        squared = self._differences(self.squares[:, None] + self.squares, self.gram)
        np.fill_diagonal(squared, 0)
        return squared

    def combine(self, weights: Array) -> Array:
        """The average that weights, which sum to 1, stand for; shape (d,)."""
        return self._rows.combine(weights)


def gram_of(m: int, blocks: Iterable[Array]) -> Array:
    """Y Y^T from blocks of the columns of Y, which has m rows."""
    gram = np.zeros((m, m))
    for block in blocks:
        gram += block @ block.T
    return gram


def _plain_gram(rows: Rows, dtype: np.dtype[np.float64]) -> Array | None:
    """G around an origin that costs little; None if there is no good one."""
    if dtype == rows.dtype and rows.multiplies_fast and has_no_offset(rows):
        gram = gram_of(len(rows), _as_they_are(rows))
        rows.confirm(np.sqrt(gram.diagonal()))
        if _offset(gram, dtype) <= _LITTLE_OFFSET:
            return gram
    gram = gram_of(len(rows), _near_sample(rows, dtype))
    rows.confirm(np.sqrt(gram.diagonal()))
    return gram if _offset(gram, dtype) <= _WORST_OFFSET else None


def _gram_around(rows: Rows, dtype: np.dtype[np.float64], origin: Array) -> Array | None:
    """G around this origin; None if it takes float64 and `dtype` is another."""
    gram = gram_of(len(rows), (block for _, block in _around(rows, origin, dtype)))
    rows.confirm(np.sqrt(gram.diagonal()))
    return gram if dtype == np.float64 or _offset(gram, dtype) <= _WORST_OFFSET else None


def _around(
    rows: Rows, origin: Array, dtype: np.dtype[np.float64] = _DOUBLE
) -> Iterator[tuple[slice, Array]]:
    """Columns and the rows in them around the origin; each block is valid until the next."""
    width = min(usual_width(len(rows)), rows.dim)
    centred = np.empty((len(rows), width), dtype)
    for columns, block in rows.blocks(width):
        out = centred[:, : block.shape[1]]
        yield columns, np.subtract(block, origin[columns], out=out, dtype=dtype)


def _offset(gram: Array, dtype: np.dtype[np.float64]) -> float:
    """How far the rows are from the origin, in distances between them, all squared.

    Infinite if that cannot be known from this matrix of products of numbers of `dtype`.
    """
    m = len(gram)
    squares = gram.diagonal()
    if not in_range(squares, dtype):
        return np.inf
    typical = float(np.partition(squares, m // 2)[m // 2])
    if m == 1:
        return 0.0
    apart = (squares[:, None] + squares - 2 * gram).ravel()
    # More than a quarter of all pairs are honest if more than half of the rows are. The least m
    # entries are those of rows with themselves.
    quarter = m + (m * m - m) // 4
    near = float(np.partition(apart, quarter)[quarter])
    return typical / near if near > 0 else np.inf


def in_range(squares: Array, dtype: np.dtype[np.float64]) -> bool:
    """Whether rows with these squared lengths can be multiplied in this precision without loss."""
    if dtype == np.float64:
        return bool(np.isfinite(squares).all())
    return bool(np.median(squares) >= _SMALLEST and squares.max() <= _LARGEST)


def has_no_offset(rows: Rows) -> bool:
    """Whether 0 is a good origin, as far as some rows and columns show; False for few columns."""
    width = min(_SLICE, rows.dim // _SLICE)
    if width == 0:
        return False
    starts = np.linspace(0, rows.dim - width, _SLICES, dtype=int).tolist()
    step = -(-len(rows) // _SOME)
    some = np.hstack([rows.block(start, start + width)[::step] for start in starts])
    return _offset(some @ some.T, rows.dtype) <= _NO_OFFSET


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


def around_median(rows: Rows) -> Iterator[tuple[slice, Array]]:
    """Columns and the rows in them around their coordinate-wise median, in float64, some at a time.

    The origin is near most rows, whatever the others are. Cost O(m d log m).
    """
    rows.check()
    for columns, block in rows.blocks(min(usual_width(len(rows)), rows.dim)):
        centred = block.astype(np.float64)
        with np.errstate(invalid="ignore"):  # which BLAS may say although all entries are finite
            centred -= column_trimmed_mean(Rows(centred), (len(rows) - 1) // 2)
        yield columns, centred


def middle_of_some(block: Array) -> Array:
    """The median of five rows, which is near most of them unless some of the five are Byzantine."""
    step = -(-len(block) // _SAMPLE)
    sample = Rows(np.ascontiguousarray(block[::step]))
    return column_trimmed_mean(sample, (len(sample) - 1) // 2)
