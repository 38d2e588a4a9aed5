"""Who is near whom, from distances that are held for a thousand vectors at a time.

Every function costs O(m^2 d) and O(1000 m) memory.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels

_BLOCK = 1000
"""Rows whose distances are held at a time."""


def neighbour_distances(vectors: Array, neighbour: int) -> Array:
    """The distance of every vector to its so-many-th neighbour, shape (m,)."""
    parts = [np.partition(block, neighbour, axis=1)[:, neighbour] for block in _distances(vectors)]
    return np.concatenate(parts)


def neighbours_within(vectors: Array, reach: float) -> Labels:
    """How many others every vector has within reach, shape (m,)."""
    return np.concatenate([(block <= reach).sum(axis=1) - 1 for block in _distances(vectors)])


def linked(vectors: Array, reach: float) -> Labels:
    """The part of every vector, if those within reach of each other are joined; shape (m,)."""
    parts = np.full(len(vectors), -1)
    for first in range(len(vectors)):
        if parts[first] >= 0:
            continue
        number = int(parts.max()) + 1
        parts[first] = number
        newest = np.array([first])
        while len(newest):
            free = np.flatnonzero(parts < 0)
            near = np.zeros(len(free), dtype=bool)
            for start in range(0, len(newest), _BLOCK):
                block = cdist(vectors[newest[start : start + _BLOCK]], vectors[free])
                near |= (block <= reach).any(axis=0)
            newest = free[near]
            parts[newest] = number
    return parts


def _distances(vectors: Array) -> Iterator[Array]:
    for first in range(0, len(vectors), _BLOCK):
        yield cdist(vectors[first : first + _BLOCK], vectors)
