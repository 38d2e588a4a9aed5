"""Per coordinate, the mean of the values that are nearest to the median."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.kernels.column_trimmed_mean import sorted_columns
from tagma.strategies.numerics.kernels.weighted_columns import weighted_mean_near_median
from tagma.strategies.numerics.row_blocks import Rows


def mean_near_median(rows: Rows, number: int, weights: Array | None = None) -> Array:
    """Of every column, the mean of the `number` values nearest to its median.

    With weights, of the share number / m of the weight.

    In sorted order they are neighbours: the window starts after every value that is farther below
    the median than the value `number` places on is above it. Cost O(d m log m).
    """
    m = len(rows)
    if weights is not None:
        return weighted_mean_near_median(rows, weights / weights.sum(), number / m)
    offsets = np.arange(number)

    def kernel(columns: Array, out: Array) -> None:
        median = columns[:, (m - 1) // 2] / 2 + columns[:, m // 2] / 2
        below = median[:, None] - columns[:, : m - number]
        above = columns[:, number:] - median[:, None]
        start = (below > above).sum(axis=1)
        np.take_along_axis(columns, start[:, None] + offsets, axis=1).mean(axis=1, out=out)

    return sorted_columns(rows, kernel)
