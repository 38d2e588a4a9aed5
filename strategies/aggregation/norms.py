"""Lengths of rows that neither overflow nor vanish."""

import numpy as np

from strategies.aggregation.rows import Rows
from tagma.arrays import Array

_ENTRIES = 2**18


def norms(rows: Rows) -> Array:
    """||x_i|| in double precision, shape (m,). Cost O(m d).

    A row whose squares overflow or vanish is measured in units of its own largest entry. A length
    beyond the largest float64 is infinite.
    """
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
    blocks = [block.astype(np.float64) for _, block in row.blocks(_ENTRIES)]
    peak = max(float(np.abs(block).max()) for block in blocks)
    if peak == 0:
        return 0.0
    return peak * float(np.sqrt(sum(((block / peak) ** 2).sum() for block in blocks)))
