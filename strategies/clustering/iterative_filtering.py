"""Clustering with iterative filtering: Algorithm 3 of the paper in its form for K clusters.

One iteration: the centre of every cluster by the spectral filter on its members, then every point
to its nearest centre. The paper analyses two symmetric clusters with fresh points in every
iteration (`symmetric_iterative_filtering` is that) and says that K clusters are possible; here all
iterations use all points, as in Algorithm 2. Where the others' error grows like sqrt(d) with the
liars in a cluster, the filter's does not.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from strategies.aggregation.rows import Rows
from strategies.aggregation.scale import estimate_scale
from strategies.aggregation.spectral_filter import filter_subset
from strategies.aggregation.spread import Spread
from strategies.clustering.clustering import Clustering
from strategies.clustering.lloyd import CentreRule, Centres, lloyd
from strategies.clustering.points import Points
from tagma.arrays import Array, Labels, Mask


def iterative_filtering(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    assumed_fraction: Annotated[float, Ge(0), Lt(0.5)],
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
    sigma: Annotated[float, Gt(0)] | None = None,
) -> Clustering:
    """Breakdown point `removable` of every cluster; what the filter drops is trimmed.

    Assumes noise of about the same strength `sigma` in all directions and clusters; it is estimated
    when not given. Cost of an iteration for R restarts: R K filters.
    """
    if sigma is None:
        sigma = estimate_scale(vectors, k=k, assumed_fraction=assumed_fraction)
    return lloyd(
        vectors, initial, _filtered_means(vectors, sigma, factor, removable),
        k=k, iterations=iterations, assumed_fraction=assumed_fraction, scale=sigma,
    )  # fmt: skip


def _filtered_means(vectors: Array, sigma: float, factor: float, removable: float) -> CentreRule:
    rows = Rows(vectors)
    spread = Spread(rows)

    def rule(points: Points, members: Mask, previous: Array) -> Centres:
        kept = np.stack(
            [
                filter_subset(
                    rows, spread, np.flatnonzero(inside),
                    sigma=sigma, factor=factor, removable=removable,
                ).kept
                for inside in members
            ]
        )  # fmt: skip
        return Centres(kept / kept.sum(axis=1, keepdims=True), within=kept | ~members)

    return rule
