"""Machines that send the same: groups too tight to be honest.

Honest machines have their own data, so the local models of a cluster scatter. Machines whose
neighbours are far nearer than is usual are copies of each other. Left among the others they would
draw a cluster's centre to themselves, so they are set aside before anything else.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform

from strategies.clustering.density_constants import Constants
from tagma.arrays import Array, Labels

_BLOCK = 1000
"""Rows whose distances are held at a time."""


@dataclass(frozen=True)
class Copies:
    """A group that is too tight."""

    rows: Labels
    """Its machines' rows."""
    centre: Array
    """Their coordinate-wise median."""
    radius: float
    """The largest distance of one of them from it."""


def find_copies(vectors: Array, smallest: int, constants: Constants) -> list[Copies]:
    """Groups of at least `smallest` machines that are too close to each other, the largest first.

    The measure is the distance to the (smallest - 1)-th neighbour, in units of its median over all
    machines. In few dimensions it varies: there the density must be tenfold. Cost O(m^2 d).
    """
    if len(vectors) < smallest:
        return []
    reach = _neighbour_distances(vectors, smallest - 1)
    limit = min(constants.tight, 10 ** (-1 / vectors.shape[1])) * float(np.median(reach))
    tight = np.flatnonzero(reach < limit)
    if not len(tight):
        return []
    _, parts = connected_components(squareform(pdist(vectors[tight])) <= limit)
    groups = [_copies(vectors, tight[parts == part]) for part in np.unique(parts)]
    return sorted(groups, key=lambda group: (-len(group.rows), group.radius))


def _copies(vectors: Array, rows: Labels) -> Copies:
    centre = np.median(vectors[rows], axis=0)
    distances = np.linalg.norm(vectors[rows] - centre, axis=1)
    return Copies(rows, centre, float(distances.max()))


def _neighbour_distances(vectors: Array, neighbour: int) -> Array:
    """The distance of every vector to its so-many-th neighbour, shape (m,)."""
    blocks = [
        np.partition(cdist(vectors[first : first + _BLOCK], vectors), neighbour, axis=1)
        for first in range(0, len(vectors), _BLOCK)
    ]
    return np.concatenate([block[:, neighbour] for block in blocks])
