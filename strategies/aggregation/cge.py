"""Comparative gradient elimination (Gupta and Vaidya, 2020)."""

from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.assumed_byzantine import Fraction, count
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms
from tagma.strategies.numerics.row_selection import mean_of, smallest


@rule
def cge(updates: Rows, *, fraction: Fraction) -> Aggregate:
    """The mean of the m - f shortest rows, f = floor(fraction m).

    Made for gradients near an optimum, which are short. Lies that are no longer than honest rows
    pass; it does not move with translation, so it is of no use for models sent as they are. The
    paper sums the rows; the mean takes the same direction. Breakdown point: f of m against long
    rows only. Cost O(m d).
    """
    m = len(updates)
    return Aggregate(
        *mean_of(updates, smallest(norms(updates)[0], m - count(fraction, m, (m - 1) // 2)))
    )
