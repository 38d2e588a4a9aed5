"""Mean around the median (Xie et al., 2018)."""

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.liars import Fraction, count
from strategies.aggregation.near_median import mean_near_median
from strategies.aggregation.rows import Rows
from strategies.aggregation.rule import coordinate_rule


@coordinate_rule
def meamed(updates: Rows, *, fraction: Fraction) -> Aggregate:
    """Per coordinate, the mean of the m - f values nearest to the median.

    f = floor(fraction m). Breakdown point: f of m. Cost O(d m log m).
    """
    m = len(updates)
    return Aggregate(mean_near_median(updates, m - count(fraction, m, (m - 1) // 2)))
