"""Coordinate-wise median (Yin et al., 2018)."""

from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.row_blocks import Rows


@rule
def median(updates: Rows) -> Aggregate:
    """Median of every coordinate; of an even number of values, the mean of the middle two.

    Breakdown point 1/2; cost O(d m log m).
    """
    return Aggregate(column_trimmed_mean(updates, (len(updates) - 1) // 2))
