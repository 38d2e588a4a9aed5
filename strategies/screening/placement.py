"""Where a local model belongs that was not there when the clusters were made.

It belongs to the nearest centre, if that cluster's ball holds it. The ball's radius follows from
how far M members lie from a mean of which they are part: about sqrt(1 - 1/M) standard deviations,
where one who was not part of it lies sqrt(1 + 1/M) away. So for newcomers the ball is larger, by

    sqrt((M + 1) / (M - 1)),

or honest ones would be refused more often than members were. Cost O(K d).
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from tagma.arrays import Array, Labels


@dataclass(frozen=True)
class Place:
    """The nearest cluster, and whether it takes the newcomer."""

    cluster: int
    distance: float
    """From its centre, in units of what a newcomer is allowed; infinite where there is no ball."""
    inside: bool


def place(local: Array, centres: Array, radii: Array, members: Labels) -> Place:
    """The place of one local model, shape (d,); `members` are those that made each centre.

    A cluster without a ball, whose radius is infinite, takes everybody.
    """
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(centres - local, axis=1)
    nearest = int(distances.argmin())
    if not np.isfinite(radii[nearest]):
        return Place(nearest, inf, True)
    allowed = float(radii[nearest]) * newcomers_room(int(members[nearest]))
    away = float(distances[nearest])
    return Place(nearest, away / max(allowed, np.finfo(np.float64).tiny), away <= allowed)


def newcomers_room(members: int) -> float:
    """How much larger the ball of so many members is for a newcomer; a pair is the least."""
    return sqrt((max(members, 2) + 1) / (max(members, 2) - 1))
