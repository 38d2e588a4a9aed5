"""The sample mean: optimal without Byzantine clients, and moved arbitrarily far by a single one."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.row_blocks import Rows


@rule
def mean(updates: Rows, *, weights: Array | None = None) -> Aggregate:
    """Average of the rows, (1/m) sum_i x_i or sum_i w_i x_i. Breakdown point 0; cost O(m d)."""
    m = len(updates)
    everyone = np.ones(m, dtype=bool)
    if weights is not None:  # a small weight could hide an entry that is not usable
        return Aggregate(updates.combine(weights), everyone, weights)
    weights = np.full(m, 1 / m)
    estimate = updates.combine(weights)
    updates.confirm(estimate)
    return Aggregate(estimate, everyone, weights)
