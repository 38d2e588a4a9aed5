"""An aggregator behind pre-aggregators."""

from collections.abc import Sequence
from dataclasses import replace

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator
from tagma.strategies.aggregation.pre.pre_aggregator import PreAggregator
from tagma.strategies.aggregation.rule import apply, as_floats, of_all
from tagma.strategies.numerics.row_blocks import chain, usable_rows


def with_pre_aggregators(before: Sequence[PreAggregator], aggregate: Aggregator) -> Aggregator:
    """The aggregator of rows that pass through `before`, in this order.

    Weights are those of the original rows, where both sides have any. Rows that are not usable are
    removed first. Aggregators of this package read the new rows block by block; others are given
    them as an array.
    """
    if not before:
        return aggregate

    def composed(updates: Array) -> Aggregate:
        rows = usable_rows(as_floats(updates))
        chosen = rows.chosen
        for step in before:
            rows = step(rows).source  # type: ignore[arg-type]
        result = apply(aggregate, rows)
        own = result.weights
        if own is not None and rows.mixing is not None:
            own = chain(rows.mixing, own[None])[0]
        result = replace(result, kept=None, weights=own)
        return of_all(result, len(updates), chosen)

    return composed
