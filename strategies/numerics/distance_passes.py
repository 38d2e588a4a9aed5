"""Distances from averages of the rows, by passes over the rows instead of a Gram matrix.

    (a Y) Y^T,  Y = rows - origin,  instead of  a G,  G = Y Y^T

One row of weights a costs O(m d), little more than the mean of the rows takes; the Gram matrix of
many rows costs as much as dozens of them. A geometric median in many dimensions needs few.

Without the matrix it cannot be known beforehand whether the origin is good; `is_accurate` says it
of an average that was found.
"""

from collections.abc import Iterator

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.affine_combinations import NEAR, Affine
from tagma.strategies.numerics.gram_matrix import has_no_offset, in_range, middle_of_some
from tagma.strategies.numerics.row_blocks import Rows, usual_width

_FEWEST, _FEWEST_CENTRED = 256, 512
"""Rows from which on passes may cost less, of rows as they are or centred."""
_ENTRIES = 2**18
"""The same for entries: Python's own time counts below."""
_PER_PASS, _PER_CENTRED_PASS = 16, 64
"""A Gram matrix of m rows costs about m by so many passes."""
_MOST_NEAR = 2.0**-30
"""If most shares are below this one, the origin is too far out for float64."""


class Passes(Affine):
    """m rows of which nothing is kept but their lengths, and an origin near them if `centred`."""

    def __init__(self, rows: Rows, *, centred: bool) -> None:
        self._rows = rows
        self.rounding = 8 * float(np.finfo(rows.dtype).eps)
        with np.errstate(all="ignore"):
            self._origin = middle_of_some(rows.array) if centred else None
            self.squares = np.zeros(len(rows))
            for block in self._blocks():
                self.squares += np.einsum("ij,ij->i", block, block)

    @property
    def limit(self) -> int:
        """How many passes are not more than the Gram matrix would cost."""
        return len(self) // (_PER_PASS if self._origin is None else _PER_CENTRED_PASS)

    def is_accurate(self, weights: Array) -> bool:
        """Whether distances from this average, weights (m,), are known well."""
        shares = self.shares(weights)
        if self._rows.dtype == np.float32:
            return bool((shares >= NEAR).all())
        return bool(np.median(shares) >= _MOST_NEAR)

    def products(self, weights: Array) -> Array:
        """A G for weights A of shape (..., m)."""
        own = weights.astype(self._rows.dtype)
        products = np.zeros(weights.shape)
        for block in self._blocks():
            products += (own @ block) @ block.T
        return products

    def combine(self, weights: Array) -> Array:
        """The average that weights, which sum to 1, stand for; shape (d,)."""
        return self._rows.combine(weights)

    def _blocks(self) -> Iterator[Array]:
        """Y, some columns at a time; each block is valid until the next."""
        rows, origin = self._rows, self._origin
        width = min(usual_width(len(rows)), rows.dim)
        centred = None if origin is None else np.empty((len(rows), width), rows.dtype)
        for columns, block in rows.blocks(width):
            if origin is None or centred is None:
                yield block
            else:
                yield np.subtract(block, origin[columns], out=centred[:, : block.shape[1]])


def passes_over(rows: Rows) -> Passes | None:
    """The rows, if passes over them may be faster than a Gram matrix and as good.

    They are not where something happens to the rows as they are read, where reading them one by one
    is slow, and where squares are out of the range of float32.
    """
    in_pieces = rows.array.strides[1] == rows.array.itemsize
    large = len(rows) >= _FEWEST and rows.array.size >= _ENTRIES
    if not (rows.plain and in_pieces and large):
        return None
    with np.errstate(all="ignore"):
        centred = not has_no_offset(rows)
    if centred and len(rows) < _FEWEST_CENTRED:
        return None
    passes = Passes(rows, centred=centred)
    rows.confirm(np.sqrt(passes.squares))
    return passes if in_range(passes.squares, rows.dtype) else None
