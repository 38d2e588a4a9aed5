"""Comparative gradient elimination (Gupta and Vaidya, 2020)."""

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.nearest_rows import smallest
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@from_origin
@rule
def cge(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """The mean of the m - f shortest rows, f = floor(fraction m).

    Made for gradients near an optimum, which are short. Byzantine rows that are no longer than
    honest ones pass; models are measured from their `origin`. The paper sums the rows; the mean
    takes the same direction. Breakdown point: f of m against
    long rows only. Cost O(m d).
    """
    m = len(updates)
    kept = m - byzantine_count(fraction, m, (m - 1) // 2)
    return mean_of(updates, smallest(norms(updates), kept), weights)
