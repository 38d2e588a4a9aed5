"""Coordinate-wise median (Yin et al., 2018)."""

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.kernels.weighted_columns import weighted_median
from tagma.strategies.numerics.row_blocks import Rows


@rule
def median(updates: Rows, *, weights: Array | None = None) -> Aggregate:
    """Median of every coordinate; of an even number of values, the mean of the middle two.

    With weights, the value below and above which there is less than half of the weight; where half
    of it ends at a value, the mean of that and the next. Breakdown point 1/2, of the weight; cost
    O(d m log m).
    """
    if weights is not None:
        return Aggregate(weighted_median(updates, weights))
    return Aggregate(column_trimmed_mean(updates, (len(updates) - 1) // 2))
