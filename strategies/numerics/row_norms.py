"""Lengths of rows."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.row_blocks import Rows

_ENTRIES, _FEW = 2**18, 16
"""Of a block; fewer rows than these get no wider ones."""


def norms(rows: Rows) -> Array:
    """||x_i|| in double precision, shape (m,). Cost O(m d).

    Rows of float32 whose squares overflow or vanish are measured in float64.
    """
    squares = _squares(rows, rows.dtype)
    if rows.dtype == np.float32:
        limits = np.finfo(np.float32)
        safe = (squares > limits.tiny / limits.eps) & (squares < limits.max * limits.eps)
        if not safe.all():
            others = np.flatnonzero(~safe)
            squares[others] = _squares(rows.take(others), np.dtype(np.float64))
    lengths = np.sqrt(squares)
    rows.confirm(lengths)
    return lengths


def distances_from(rows: Rows, point: Array) -> Array:
    """||x_i - p|| in double precision, shape (m,). Cost O(m d)."""
    squares = np.zeros(len(rows))
    for columns, block in rows.blocks(_width(rows)):
        apart = np.subtract(block, point[columns], dtype=np.float64)
        squares += np.einsum("ij,ij->i", apart, apart)
    return np.sqrt(squares)


def _squares(rows: Rows, dtype: np.dtype[np.float64]) -> Array:
    squares = np.zeros(len(rows))
    for _, block in rows.blocks(_width(rows)):
        block = block.astype(dtype, copy=False)
        squares += np.einsum("ij,ij->i", block, block)
    return squares


def _width(rows: Rows) -> int:
    return max(1024, _ENTRIES // max(len(rows), _FEW))
