"""The spectral filter before any aggregator."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator, Memory
from tagma.strategies.aggregation.from_origin import marked, measures_from_origin
from tagma.strategies.aggregation.iterative_filtering import iterative_filtering
from tagma.strategies.aggregation.rule import apply, as_aggregator, rule
from tagma.strategies.aggregation.side_information import Given, restricted
from tagma.strategies.numerics.parameter_validation import checker
from tagma.strategies.numerics.row_blocks import Rows

FACTOR = 1.3
"""Room above the largest variance that noise alone has."""
REMOVABLE = 0.34
"""The largest share of replies that is dropped."""
_FEWEST = 4
"""Fewer replies have no spread to speak of."""


def with_spectral_filter(
    aggregate: Aggregator,
    *,
    factor: Annotated[float, Gt(0)] = FACTOR,
    removable: Annotated[float, Ge(0), Lt(1)] = REMOVABLE,
) -> Aggregator:
    """The same aggregation of the rows that `iterative_filtering` keeps, with estimated noise.

    Byzantine clients that stretch the rows are dropped first, up to a share `removable`; against
    the others it is as robust as `aggregate`. Breakdown point: at least that of `aggregate` among
    the rows that are left, and min(removable, 1/2) against Byzantine clients far away. Cost: that
    of `iterative_filtering`, O(m^2 d), and of `aggregate`. Fewer than four rows pass as they are.
    Weights are for `aggregate`: who is dropped does not depend on them.
    """
    checker(with_spectral_filter)({"factor": factor, "removable": removable})

    aggregate = as_aggregator(aggregate)

    @rule
    def of_the_kept(
        updates: Rows,
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
        if len(updates) < _FEWEST:
            return apply(aggregate, updates, given)
        kept = iterative_filtering(updates, factor=factor, removable=removable).kept
        assert kept is not None
        chosen = np.flatnonzero(kept)
        result = apply(aggregate, updates.take(chosen), restricted(given, chosen))
        if result.kept is not None:
            kept[kept] = result.kept
        return Aggregate(result.estimate, kept=kept, memory=result.memory)

    return marked(of_the_kept) if measures_from_origin(aggregate) else of_the_kept
