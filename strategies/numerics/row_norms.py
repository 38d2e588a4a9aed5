"""Lengths of rows that neither overflow nor vanish."""

from dataclasses import replace

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.row_blocks import Rows

_ENTRIES, _WIDTH = 2**18, 2**14
"""Of a block of all rows; columns of a block of one row."""
_SMALLER = 2.0**-64


def norms(rows: Rows) -> tuple[Array, float]:
    """||x_i|| in double precision, shape (m,), and what a length of 1 stands for. Cost O(m d).

    A row whose squares overflow or vanish is measured in units of its own largest entry. The unit
    is 1, unless a length is beyond the largest float64.
    """
    lengths = _norms(rows)
    if np.isfinite(lengths).all():
        return lengths, 1.0
    return _norms(replace(rows, scale=rows.scale * _SMALLER)), 1 / _SMALLER


def _norms(rows: Rows) -> Array:
    squares = np.zeros(len(rows))
    for _, block in rows.blocks(max(1024, _ENTRIES // len(rows))):
        squares += np.einsum("ij,ij->i", block, block)
    limits = np.finfo(rows.dtype)
    unsafe = ~((squares > limits.tiny / limits.eps) & (squares < limits.max * limits.eps))
    lengths = np.sqrt(squares)
    for row in np.flatnonzero(unsafe):
        lengths[row] = _careful(rows.take(np.array([row])))
    return lengths


def _careful(row: Rows) -> float:
    peak = max(float(np.abs(block).max()) for _, block in row.blocks(_WIDTH))
    if peak == 0:
        return 0.0
    blocks = (block.astype(np.float64) for _, block in row.blocks(_WIDTH))
    return peak * float(np.sqrt(sum(((block / peak) ** 2).sum() for block in blocks)))
