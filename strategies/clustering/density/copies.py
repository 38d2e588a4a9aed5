"""Clients that send the same: groups too tight to be honest.

Honest clients have their own data, so the local models of a cluster scatter. Clients whose
neighbours are far nearer than is usual are copies of each other. Left among the others they would
draw a cluster's centre to themselves, so they are set aside before anything else.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.nearest_neighbours import linked, neighbour_distances


@dataclass(frozen=True)
class Copies:
    """A group that is too tight."""

    rows: Labels
    """Its clients' rows."""
    centre: Array
    """Their coordinate-wise median."""
    radius: float
    """The largest distance of one of them from it."""


def find_copies(vectors: Array, smallest: int, constants: Constants) -> list[Copies]:
    """Groups of at least `smallest` clients that are too close to each other, the largest first.

    The measure is the distance to the (smallest - 1)-th neighbour, in units of its median over all
    clients. In few dimensions it varies: there the density must be tenfold. Cost O(m^2 d).
    """
    if len(vectors) < smallest:
        return []
    reach = neighbour_distances(vectors, smallest - 1)
    limit = min(constants.tight, 10 ** (-1 / vectors.shape[1])) * float(np.median(reach))
    tight = np.flatnonzero(reach < limit)
    if not len(tight):
        return []
    parts = linked(vectors[tight], limit)
    groups = [_copies(vectors, tight[parts == part]) for part in np.unique(parts)]
    return sorted(groups, key=lambda group: (-len(group.rows), group.radius))


def _copies(vectors: Array, rows: Labels) -> Copies:
    centre = np.median(vectors[rows], axis=0)
    distances = np.linalg.norm(vectors[rows] - centre, axis=1)
    return Copies(rows, centre, float(distances.max()))
