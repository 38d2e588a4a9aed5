"""Plain K-means (Lloyd): the centre is the mean. The baseline that one client can mislead."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.lloyd import Centres, lloyd
from tagma.strategies.clustering.weighted_centres import Points
from tagma.strategies.numerics.byzantine_count import Fraction


@of_finite_points
def kmeans(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
) -> Clustering:
    """Breakdown point 0. Cost O(R m (K + min(m, d)) K) per iteration for R restarts."""
    return lloyd(
        vectors, initial, mean_centres,
        k=k, iterations=iterations, fraction=fraction,
    )  # fmt: skip


def mean_centres(points: Points, members: Mask) -> Centres:
    """The mean of every cluster; there is no ball, so every point is within."""
    weights = members / members.sum(axis=1, keepdims=True)
    return Centres(weights, within=np.ones_like(members))
