"""From rough groups to clusters with balls: Lloyd's algorithm that keeps only what a ball holds.

The centre is the mean of the kept members; every vector goes to its nearest centre, and is kept if
the ball around it (`ball_radius`) holds it. This works in the full space, where Byzantine clients
are far away that the projection may have put beside a cluster.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.ball_radius import Balls, balls_around
from tagma.strategies.clustering.density.constants import Constants

OUTSIDE = -1
"""The label of a vector in no ball."""
_LIMIT = 50
"""Iterations; a fixed point is usually reached within five."""

_ROUNDING = 1e-12
"""Distances are not known better than this, in units of the vectors' entries."""


@dataclass(frozen=True)
class Fit:
    """K clusters with their balls."""

    members: Labels
    """The cluster whose ball holds the vector, or -1; shape (m,)."""
    centres: Array
    """The mean of every cluster's members, shape (K, d)."""
    sizes: Labels
    """Members of every cluster, shape (K,)."""
    balls: Balls

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.centres)


def polish(vectors: Array, members: Labels, constants: Constants) -> Fit:
    """The fixed point from these rough groups. Cost O(m K d) per iteration.

    A group that loses its last member is gone.
    """
    members = renumber(members)
    rounding = _ROUNDING * float(np.median(np.abs(vectors).max(axis=1)))
    for _ in range(_LIMIT):
        fit, nearest, distances = _fit(vectors, members, constants)
        if not fit.k:
            break
        held = distances <= fit.balls.radii[nearest] + rounding
        members = renumber(np.where(held, nearest, OUTSIDE))
        if np.array_equal(members, fit.members):
            break
    return fit


def _fit(vectors: Array, members: Labels, constants: Constants) -> tuple[Fit, Labels, Array]:
    """Centres and balls of the members, and every vector's nearest centre and distance to it."""
    m, d = vectors.shape
    k = int(members.max(initial=OUTSIDE)) + 1
    kept = members >= 0
    sizes = np.bincount(members[kept], minlength=k)
    shares = (members == np.arange(k)[:, None]) / sizes[:, None]
    centres = shares @ np.where(kept[:, None], vectors, 0)
    if not k:
        balls = balls_around(np.zeros(0), members[kept], 0, d, constants)
        return Fit(members, centres, sizes, balls), members, np.zeros(m)
    distances = cdist(vectors, centres)
    own = distances[np.arange(m), members][kept]
    balls = balls_around(own, members[kept], k, d, constants)
    nearest = distances.argmin(axis=1)
    return Fit(members, centres, sizes, balls), nearest, distances.min(axis=1)


def renumber(members: Labels, dissolved: Labels | None = None) -> Labels:
    """Labels 0, 1, ... without gaps; clusters in `dissolved` are no more."""
    if dissolved is not None:
        members = np.where(np.isin(members, dissolved), OUTSIDE, members)
    numbers = np.unique(members[members >= 0])
    return np.where(members >= 0, np.searchsorted(numbers, members), OUTSIDE)
