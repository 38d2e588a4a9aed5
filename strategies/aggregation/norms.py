"""Lengths of rows that neither overflow nor vanish."""

import numpy as np

from strategies.aggregation.rows import Rows
from tagma.arrays import Array

_ENTRIES = 2**18


def norms(rows: Rows) -> Array:
    """||x_i|| in double precision, shape (m,). Cost O(m d).

    Each row is measured in units of its own largest entry, so that no square overflows. A length
    beyond the largest float64 is infinite.
    """
    width = max(1024, _ENTRIES // len(rows))
    peaks, sums = np.zeros(len(rows)), np.zeros(len(rows))
    for _, block in rows.blocks(width):
        peak = np.abs(block).max(axis=1).astype(np.float64)
        larger = np.maximum(peaks, peak)
        unit = np.where(larger > 0, larger, 1.0)
        part = block / unit.astype(block.dtype)[:, None]
        sums = sums * (peaks / unit) ** 2 + np.einsum("ij,ij->i", part, part)
        peaks = larger
    return peaks * np.sqrt(sums)
