"""Cosines of the angles between rows, and between rows and a vector."""

from collections.abc import Iterator

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.gram_matrix import gram_of
from tagma.strategies.numerics.row_blocks import Rows, usual_width
from tagma.strategies.numerics.row_norms import norms


def cosines(rows: Rows) -> Array:
    """Of every pair of rows, shape (m, m); a row of zeros has 0 with all others. Cost O(m^2 d)."""
    own = gram_of(len(rows), (block for _, block in _directions(rows, norms(rows))))
    np.fill_diagonal(own, 1)
    return np.clip(own, -1, 1)


def cosines_with(rows: Rows, point: Array) -> Array:
    """Of every row and a vector, shape (m,); 0 where one of them is 0. Cost O(m d)."""
    one = np.asarray(point, dtype=np.float64)
    length = float(np.linalg.norm(one))
    if not length > 0:
        return np.zeros(len(rows))
    one = one / length
    found = np.zeros(len(rows))
    for columns, block in _directions(rows, norms(rows)):
        found += block @ one[columns]
    return np.clip(found, -1, 1)


def _directions(rows: Rows, lengths: Array) -> Iterator[tuple[slice, Array]]:
    """Columns, and the rows of length 1 in them, in float64."""
    scales = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    for columns, block in rows.blocks(usual_width(len(rows))):
        yield columns, block.astype(np.float64) * scales[:, None]
