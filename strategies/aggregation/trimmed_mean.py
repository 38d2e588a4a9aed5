"""Coordinate-wise trimmed mean (Yin et al., 2018), the stage III of the paper."""

from typing import Annotated

from annotated_types import Ge, Lt

from tagma.counts import floor_of
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.row_blocks import Rows


@rule
def trimmed_mean(updates: Rows, *, beta: Annotated[float, Ge(0), Lt(0.5)]) -> Aggregate:
    """Mean of every coordinate without its floor(beta m) smallest and largest values.

    Breakdown point beta: it must exceed the Byzantine fraction of the worst cluster. Cost
    O(d m log m).
    """
    return Aggregate(column_trimmed_mean(updates, floor_of(beta, len(updates))))
