"""Where a local model belongs that was not there when the clusters were made.

It belongs to the nearest centre, if that cluster holds it: if its distance is what its own noise
explains, where stage II measured that (`tagma.strategies.clustering.density`), else if the
cluster's ball holds it. What is allowed follows from how far M members lie from a mean of which
they are part: about sqrt(1 - 1/M) standard deviations, where one who was not part of it lies
sqrt(1 + 1/M) away. So for newcomers it is more, by

    sqrt((M + 1) / (M - 1)),

or honest ones would be refused more often than members were. Cost O(K d).
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.clustering import OwnNoise
from tagma.strategies.clustering.density.membership import newcomer


@dataclass(frozen=True)
class Place:
    """The nearest cluster, and whether it takes the newcomer."""

    cluster: int
    distance: float
    """From its centre, in units of what a newcomer is allowed; infinite where there is no ball."""
    inside: bool
    weight: float = 1.0
    """How much the newcomer counts, at most."""


def place(
    local: Array, centres: Array, radii: Array, members: Labels, noise: OwnNoise | None = None
) -> Place:
    """The place of one local model, shape (d,); `members` are those that made each centre.

    A cluster without a ball, whose radius is infinite, takes everybody.
    """
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(centres - local, axis=1)
    nearest = int(distances.argmin())
    if not np.isfinite(radii[nearest]):
        return Place(nearest, inf, True)
    if noise is not None and np.isfinite(distances).all():
        nearest, away, weight = newcomer(local, centres, noise)
        away /= newcomers_room(int(members[nearest]))
        return Place(nearest, away, away <= 1, weight)
    allowed = float(radii[nearest]) * newcomers_room(int(members[nearest]))
    away = float(distances[nearest])
    return Place(nearest, away / max(allowed, np.finfo(np.float64).tiny), away <= allowed)


def newcomers_room(members: int) -> float:
    """How much farther a newcomer to so many members may be; a pair is the least."""
    return sqrt((max(members, 2) + 1) / (max(members, 2) - 1))
