"""Nearest-neighbour mixing (Allouah et al., 2023)."""

from strategies.aggregation.geometry import Geometry
from strategies.aggregation.liars import Fraction, count
from strategies.aggregation.mixing import watchful_pre_rule
from strategies.aggregation.rows import Rows
from strategies.aggregation.selection import nearest_of_each
from tagma.arrays import Array


@watchful_pre_rule
def nnm(updates: Rows, *, fraction: Fraction) -> Array:
    """Every row becomes the mean of the m - f rows nearest to it, itself among them.

    f = floor(fraction m). Before a trimmed mean, median, geometric median or Krum it makes the
    error that liars add proportional to how much the honest rows differ, the best that is possible.
    Cost O(m^2 d), twice: for the distances and for the means.
    """
    m = len(updates)
    number = m - count(fraction, m, (m - 1) // 2)
    return nearest_of_each(Geometry(updates).pairwise(), number) / number
