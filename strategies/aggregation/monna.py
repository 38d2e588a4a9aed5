"""MoNNA (Farhadkhani et al., 2023): the nearest neighbours of a trusted row."""

from typing import Annotated

from annotated_types import Ge

from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import most_central, smallest
from tagma.strategies.numerics.row_blocks import Rows


@rule
def monna(
    updates: Rows, *, fraction: Fraction, reference: Annotated[int, Ge(0)] | None = None
) -> Aggregate:
    """The mean of the m - f rows nearest to a reference row, itself among them.

    `reference` is the number of a row that is known to be honest. A server has none: without it,
    the row that is nearest to the nearer half of the others stands in. f = floor(fraction m).
    Breakdown point: f of m. Cost O(m^2 d).
    """
    m = len(updates)
    squared = Geometry(updates).pairwise()
    trusted = most_central(squared)
    if reference is not None:
        trusted = updates.position(reference)
    nearest = smallest(squared[trusted], m - byzantine_count(fraction, m, (m - 1) // 2))
    return mean_of(updates, nearest)
