"""Nearest-neighbour mixing (Allouah et al., 2023)."""

from tagma.arrays import Array
from tagma.strategies.aggregation.pre.pre_aggregator import pre_rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import nearest_of_each
from tagma.strategies.numerics.row_blocks import Rows


@pre_rule
def nnm(updates: Rows, *, fraction: Fraction) -> Array:
    """Every row becomes the mean of the m - f rows nearest to it, itself among them.

    f = floor(fraction m). Before a trimmed mean, median, geometric median or Krum it makes the
    error that Byzantine clients add proportional to how much the honest rows differ, the best that
    is possible. Cost O(m^2 d), twice: for the distances and for the means.
    """
    m = len(updates)
    number = m - byzantine_count(fraction, m, (m - 1) // 2)
    return nearest_of_each(Geometry(updates).pairwise(), number) / number
