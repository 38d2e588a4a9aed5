"""FLAME (Nguyen et al., 2022): a majority by direction, clipped to the median length, and noise."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, Memory, reweighted
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.norm_clipping import with_noise
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.cosines import cosines
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms

_FEW = 3
"""Of fewer rows no majority stands out."""


@from_origin
@rule
def flame(
    updates: Rows,
    *,
    noise: Annotated[float, Ge(0)] = 0.001,
    seed: Annotated[int, Ge(0)] = 0,
    weights: Array | None = None,
    memory: Memory | None = None,
) -> Aggregate:
    """The mean of a majority of the rows, cut to the median length of all, and noise.

    The majority is the cluster of at least floor(m / 2) + 1 rows that HDBSCAN finds by cosine
    distances of the updates; all rows, if it finds none. The noise has `noise` times the median
    length as its deviation, in every coordinate. Breakdown point: 1/2 in length; in direction
    against minorities that stand apart, none is proven. Cost O(m^2 d).
    """
    lengths = norms(updates)
    median = float(np.median(lengths))
    kept = _majority(cosines(updates))
    shares = kept / kept.sum() if weights is None else reweighted(kept, weights)
    estimate = updates.combine(shares * clip_factors(lengths, median))
    return with_noise(Aggregate(estimate, kept=kept), noise * median, seed, memory)


def _majority(similar: Array) -> Mask:
    m = len(similar)
    everybody = np.ones(m, dtype=bool)
    if m < _FEW:
        return everybody
    from sklearn.cluster import HDBSCAN  # which takes a second to import

    found = HDBSCAN(
        min_cluster_size=m // 2 + 1, min_samples=1, metric="precomputed",
        allow_single_cluster=True, copy=True,
    ).fit(np.maximum(1 - similar, 0))  # fmt: skip
    kept: Mask = found.labels_ == 0
    return kept if kept.any() else everybody
