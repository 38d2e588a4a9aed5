"""Divide and conquer (DnC; Shejwalkar and Houmansadr, 2021)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.counts import ceil_of
from tagma.rng import stream
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import smallest
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.weighted_variance import largest_variance


@rule
def dnc(
    updates: Rows,
    *,
    fraction: Fraction,
    factor: Annotated[float, Gt(0)] = 1.0,
    columns: Annotated[int, Ge(1)] = 10_000,
    iterations: Annotated[int, Ge(1)] = 3,
    seed: Annotated[int, Ge(0)] = 0,
    weights: Array | None = None,
) -> Aggregate:
    """The mean of the rows that lie near the others in every one of some random sets of columns.

    In each of `iterations` sets of at most `columns` columns, the ceil(factor f) rows farthest from
    the mean along the direction of the largest variance are dropped; f = floor(fraction m). If none
    is left, the last set decides. No breakdown point is proven: the direction is found once, so
    Byzantine clients far out in one direction hide others that lie in a direction of their own.
    Cost O(m^2 min(d, columns)) and O(m^3) per set: the cheapest spectral rule when d is large. The
    columns follow from `seed`; keep it from the Byzantine clients.
    """
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 1) // 2)
    dropped = min(ceil_of(factor, f), m - 1)
    random = stream(seed, "dnc")
    good = np.ones(m, dtype=bool)
    for _ in range(iterations if updates.dim > columns else 1):
        part = updates
        if updates.dim > columns:
            part = updates.columns(np.sort(random.choice(updates.dim, columns, replace=False)))
        kept = smallest(largest_variance(Geometry(part).gram, np.ones(m))[1], m - dropped)
        last = np.isin(np.arange(m), kept)
        good &= last
    return mean_of(updates, np.flatnonzero(good if good.any() else last), weights)
