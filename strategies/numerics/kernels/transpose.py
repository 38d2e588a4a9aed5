"""Columns in one piece each.

NumPy reads a transposed block one column after the other, a line of cache for every row. That is
slow where the distance between rows in memory sends them to the same few places of the cache, as it
does for 2^k columns. Such rows are copied to better places first: medians of 100 to 1000 rows are
1.4 to 2.6 times as fast then.
"""

import numpy as np

from tagma.arrays import Array

_LINE = 64
"""Bytes that the cache holds together."""
_CROWDED = 512
"""Rows that are a multiple of so many bytes apart share few places of the cache."""
_ROWS = 64
"""Of those, at once."""


def transpose(block: Array, columns: Array) -> None:
    """Write a block (m, c) of rows into `columns` (c, m)."""
    if block.strides[0] % _CROWDED:
        columns[:] = block.T
        return
    width = block.shape[1]
    copy = np.empty((_ROWS, padded(width, block.dtype)), block.dtype)[:, :width]
    for start in range(0, len(block), _ROWS):
        part = block[start : start + _ROWS]
        copy[: len(part)] = part
        columns[:, start : start + _ROWS] = copy[: len(part)].T


def padded(columns: int, dtype: np.dtype[np.float64]) -> int:
    """A width of at least so many columns at which rows are spread over the cache.

    That is an odd number of its lines: rows 2^k apart would share few places in it.
    """
    line = _LINE // dtype.itemsize
    return (-(-columns // line) | 1) * line
