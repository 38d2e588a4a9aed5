"""Mean around the median (Xie et al., 2018)."""

from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import coordinate_rule
from tagma.strategies.numerics.assumed_byzantine import Fraction, count
from tagma.strategies.numerics.mean_near_median import mean_near_median
from tagma.strategies.numerics.row_blocks import Rows


@coordinate_rule
def meamed(updates: Rows, *, fraction: Fraction) -> Aggregate:
    """Per coordinate, the mean of the m - f values nearest to the median.

    f = floor(fraction m). Breakdown point: f of m. Cost O(d m log m).
    """
    m = len(updates)
    return Aggregate(mean_near_median(updates, m - count(fraction, m, (m - 1) // 2)))
