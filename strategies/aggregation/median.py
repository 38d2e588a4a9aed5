"""Coordinate-wise median (Yin et al., 2018)."""

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.middle import middle_mean
from strategies.aggregation.rows import Rows
from strategies.aggregation.rule import coordinate_rule


@coordinate_rule
def median(updates: Rows) -> Aggregate:
    """Median of every coordinate; of an even number of values, the mean of the middle two.

    Breakdown point 1/2; cost O(d m log m).
    """
    return Aggregate(middle_mean(updates, (len(updates) - 1) // 2))
