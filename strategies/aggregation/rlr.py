"""Robust learning rate (Ozdayi et al., 2021): coordinates without a clear vote go backwards."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from tagma.arrays import Array
from tagma.counts import floor_of
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.row_blocks import Rows, usual_width


@from_origin
@rule
def rlr(
    updates: Rows,
    *,
    threshold: Annotated[float, Ge(0), Le(1)] = 0.4,
    weights: Array | None = None,
) -> Aggregate:
    """The mean of the rows, reversed in every coordinate with |sum_i sign(x_i)| < t.

    t = floor(`threshold` m) votes; the paper's 4 of 10 by default. To reverse what f clients pull
    and the others do not care about, t must exceed f; and it must not exceed m - 2f, or f clients
    reverse what all others want. So it holds against a third at most, and coordinates on which
    honest clients disagree move backwards, too. Votes are not weighted. Made for updates. Cost
    O(m d).
    """
    m = len(updates)
    needed = floor_of(threshold, m)
    mean = updates.combine(np.full(m, 1 / m) if weights is None else weights)
    for columns, block in updates.blocks(usual_width(m)):
        votes = np.count_nonzero(block > 0, axis=0) - np.count_nonzero(block < 0, axis=0)
        mean[columns] *= np.where(np.abs(votes) < needed, -1, 1).astype(mean.dtype)
    return Aggregate(mean)
