"""Bucketing (Karimireddy et al., 2022): means of random groups."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.rng import stream
from tagma.strategies.aggregation.pre.pre_aggregator import pre_rule
from tagma.strategies.numerics.row_blocks import Rows


@pre_rule
def bucketing(
    updates: Rows,
    *,
    size: Annotated[int, Ge(1)] = 2,
    seed: Annotated[int, Ge(0)] = 0,
    weights: Array | None = None,
) -> Array:
    """The means of ceil(m / size) groups of `size` rows, the last of which may be smaller.

    Weighted means, where the rows have weights. Groups are drawn from `seed`; those of one row stay
    in their order. Honest rows become more alike by 1/sqrt(size), but one Byzantine
    client spoils its whole group: the share of Byzantine rows that reach the aggregator grows up
    to `size` times. Cost O(m d).
    """
    m = len(updates)
    order = stream(seed, "bucketing", m).permutation(m) if size > 1 else np.arange(m)
    mixing = np.zeros((-(-m // size), m))
    for bucket, row in enumerate(mixing):
        members = order[bucket * size : (bucket + 1) * size]
        row[members] = 1 / len(members) if weights is None else _shares(weights[members])
    return mixing


def _shares(weights: Array) -> Array:
    shares = weights / weights.max()  # whose sum cannot overflow
    return shares / shares.sum()
