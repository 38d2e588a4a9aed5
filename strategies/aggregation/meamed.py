"""Mean around the median (Xie et al., 2018)."""

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.mean_near_median import mean_near_median
from tagma.strategies.numerics.row_blocks import Rows


@rule
def meamed(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """Per coordinate, the mean of the m - f values nearest to the median.

    f = floor(fraction m). With weights, of the share (m - f) / m of the weight that is nearest to
    the weighted median. Breakdown point: f of m, or that share of the weight. Cost O(d m log m).
    """
    m = len(updates)
    number = m - byzantine_count(fraction, m, (m - 1) // 2)
    return Aggregate(mean_near_median(updates, number, weights))
