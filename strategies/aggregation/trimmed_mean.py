"""Coordinate-wise trimmed mean (Yin et al., 2018), the stage III of the paper."""

from typing import Annotated

from annotated_types import Ge, Lt

from tagma.arrays import Array
from tagma.counts import floor_of
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.kernels.weighted_columns import weighted_trimmed_mean
from tagma.strategies.numerics.row_blocks import Rows


@rule
def trimmed_mean(
    updates: Rows, *, beta: Annotated[float, Ge(0), Lt(0.5)], weights: Array | None = None
) -> Aggregate:
    """Mean of every coordinate without its floor(beta m) smallest and largest values.

    With weights, without the share floor(beta m) / m of the weight on each side, of the m rows that
    have any; a value at the edge counts with what is left of its weight. That share is below beta
    where beta m is not whole, so that equal weights are the same as none. Breakdown point beta, of
    the weight: it must exceed the Byzantine fraction of the worst cluster. Cost O(d m log m).
    """
    m = len(updates)
    dropped = floor_of(beta, m)
    if weights is not None:
        return Aggregate(weighted_trimmed_mean(updates, weights, dropped / m))
    return Aggregate(column_trimmed_mean(updates, dropped))
