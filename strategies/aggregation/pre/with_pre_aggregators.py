"""An aggregator behind pre-aggregators."""

from collections.abc import Sequence
from dataclasses import replace

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator, Memory
from tagma.strategies.aggregation.from_origin import from_origin, marked, measures_from_origin
from tagma.strategies.aggregation.pre.pre_aggregator import PreAggregator
from tagma.strategies.aggregation.rule import (
    apply,
    as_aggregator,
    as_floats,
    of_all,
    without_removed,
)
from tagma.strategies.aggregation.side_information import (
    Given,
    checked,
    declared,
    prepared,
    restricted,
)
from tagma.strategies.numerics.row_blocks import Rows, chain, usable_rows


def with_pre_aggregators(before: Sequence[PreAggregator], aggregate: Aggregator) -> Aggregator:
    """The aggregator of rows that pass through `before`, in this order.

    Weights of the result are those of the original rows, where both sides have any. Rows that are
    not usable are removed first. Aggregators of this package read the new rows block by block;
    others are given them as an array. A new row has the weight and the client of the old one that
    it replaces; where the new ones are fewer, the weights of all that it is made of, and no
    client. Where one of `before` measures from 0, all happens to the differences from `origin`.
    """
    aggregate = as_aggregator(aggregate)
    if not before:
        return aggregate

    def composed(
        updates: Array,
        /,
        *,
        clients: Labels | None = None,
        weights: Array | None = None,
        reference: Array | None = None,
        memory: Memory | None = None,
        origin: Array | None = None,
    ) -> Aggregate:
        given: Given = {
            "clients": clients, "weights": weights, "reference": reference, "memory": memory,
            "origin": origin,
        }  # fmt: skip
        array = as_floats(updates)
        rows = usable_rows(array)
        usable, number = rows.chosen, len(rows)
        rows, given, used = prepared(rows, restricted(checked(given, *array.shape), usable))
        for step in before:
            rows, given = _mixed(step, rows, given)
        result = apply(aggregate, rows, given)
        own = result.weights
        if own is not None and rows.mixing is not None:
            own = chain(rows.mixing, own[None])[0]
        result = of_all(replace(result, kept=None, weights=own), number, used)
        return without_removed(result, len(updates), usable)

    if any(map(measures_from_origin, before)):
        return from_origin(composed)
    return marked(composed) if measures_from_origin(aggregate) else composed


def _mixed(step: PreAggregator, rows: Rows, given: Given) -> tuple[Rows, Given]:
    """The new rows and what belongs to them."""
    weights = given["weights"]
    if weights is not None and "weights" in declared(step):
        mixed = step(rows, weights=weights)
    else:
        mixed = step(rows)
    if len(mixed.source) == len(rows):
        return mixed.source, given
    if weights is not None:
        weights = (mixed.weights != 0) @ weights
    return mixed.source, {**given, "clients": None, "weights": weights}
