"""The spectral filter before any aggregator."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator
from tagma.strategies.aggregation.iterative_filtering import iterative_filtering
from tagma.strategies.aggregation.rule import apply, rule
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
    """
    checker(with_spectral_filter)({"factor": factor, "removable": removable})

    @rule
    def of_the_kept(updates: Rows) -> Aggregate:
        if len(updates) < _FEWEST:
            return apply(aggregate, updates)
        kept = iterative_filtering(updates, factor=factor, removable=removable).kept  # type: ignore[arg-type]
        assert kept is not None
        result = apply(aggregate, updates.take(np.flatnonzero(kept)))
        if result.kept is not None:
            kept[kept] = result.kept
        return Aggregate(result.estimate, kept=kept)

    return of_the_kept
