"""The half of the updates that point where most others do, cut to the median length."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, reweighted
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.cosines import cosines
from tagma.strategies.numerics.nearest_rows import smallest
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms

_FEW = 3
"""Fewer rows have no majority to agree with."""


@from_origin
@rule
def central_half(updates: Rows, *, weights: Array | None = None) -> Aggregate:
    """The mean of the floor(m / 2) + 1 rows whose median cosine with the others is largest.

    Rows are cut to the median length of all. Fewer than half of the rows cannot lift their median
    cosine above what honest rows have with them, however alike they are among themselves: where
    honest clients differ, so that a minority of one mind is the densest group, it is still not the
    most central one. Clients who rarely agree with most count rarely. Breakdown point: 1/2 in
    length; none is proven in direction, as who agrees with most is kept. Cost O(m^2 d).
    """
    m, lengths = len(updates), norms(updates)
    kept = np.ones(m, dtype=bool)
    if m >= _FEW:
        similar = cosines(updates)
        others = similar[~np.eye(m, dtype=bool)].reshape(m, m - 1)
        kept = np.isin(np.arange(m), smallest(-np.median(others, axis=1), m // 2 + 1))
    shares = kept / kept.sum() if weights is None else reweighted(kept, weights)
    cut = clip_factors(lengths, float(np.median(lengths)))
    return Aggregate(updates.combine(shares * cut), kept=kept)
