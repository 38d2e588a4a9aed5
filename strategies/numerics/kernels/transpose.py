"""Columns in one piece each.

NumPy reads a transposed block one column after the other, a line of cache for every row, which pays
only if the lines stay in the cache until the next column: for so many rows at once, and not where
the distance between rows in memory sends them to the same few places of the cache, as it does for
2^k columns. Such rows are copied to better places first, which is several times as fast.
"""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.kernels.scratch_memory import padded

_ROWS = 256
"""At once."""
_CROWDED = 512
"""Rows that are a multiple of so many bytes apart share few places of the cache."""
_CROWDED_ROWS = 64
"""Of those, at once."""


def transpose(block: Array, columns: Array) -> None:
    """Write a block (m, c) of rows into `columns` (c, m)."""
    crowded = block.strides[0] % _CROWDED == 0
    step = _CROWDED_ROWS if crowded else _ROWS
    for start in range(0, len(block), step):
        part = block[start : start + step]
        columns[:, start : start + step] = (_spread_copy(part) if crowded else part).T


def _spread_copy(rows: Array) -> Array:
    """A copy whose rows are spread over the cache."""
    number, width = rows.shape
    copy: Array = np.empty((number, padded(width, rows.dtype)), rows.dtype)[:, :width]
    copy[:] = rows
    return copy
