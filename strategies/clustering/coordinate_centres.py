"""Centres as coordinates, for rules whose centres are no affine combinations of the points.

The counterpart of `Points`: coordinate-wise medians and trimmed means take every coordinate from
other points, so no weights stand for them. Distances to B centres cost O(B m d).
"""

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Mask
from tagma.strategies.aggregation.aggregate import Aggregator
from tagma.strategies.clustering.lloyd import CentreRule, Centres


class Coordinates:
    """m points in R^d; a centre is written as it is."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.mean = points.mean(axis=0)

    def __len__(self) -> int:
        return len(self.points)

    def squared_distances(self, centres: Array) -> Array:
        """||c - p_j||^2, shape (..., m), for centres of shape (..., d)."""
        rows = centres.reshape(-1, centres.shape[-1])
        return cdist(rows, self.points, "sqeuclidean").reshape(*centres.shape[:-1], -1)

    def combine(self, centres: Array) -> Array:
        """The centres themselves."""
        return centres


def aggregate_centres(aggregate: Aggregator) -> CentreRule:
    """The rule whose centre is a stage III aggregate of the members."""

    def rule(space: Coordinates, members: Mask) -> Centres:
        rows = np.stack([aggregate(space.points[inside]).estimate for inside in members])
        return Centres(rows, within=np.ones_like(members))

    return rule
