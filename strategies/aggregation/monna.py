"""MoNNA (Farhadkhani et al., 2023): the nearest neighbours of a trusted vector."""

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import most_central, smallest
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import distances_from


@rule
def monna(
    updates: Rows,
    *,
    fraction: Fraction,
    weights: Array | None = None,
    reference: Array | None = None,
) -> Aggregate:
    """The mean of the m - f rows nearest to the reference.

    A server without a vector that it trusts has no `reference`: then the row that is nearest to the
    nearer half of the others stands in, itself among the m - f. f = floor(fraction m). Breakdown
    point: f of m. Cost O(m d), and O(m^2 d) without a reference.
    """
    m = len(updates)
    if reference is None:
        squared = Geometry(updates).pairwise()
        apart = squared[most_central(squared)]
    else:
        apart = distances_from(updates, reference)
    return mean_of(
        updates, smallest(apart, m - byzantine_count(fraction, m, (m - 1) // 2)), weights
    )
