"""Where vectors are dense: modes by mean shift (Fukunaga and Hostetler, 1975; Comaniciu, 2002).

From every client a few steps to the mean of its q nearest neighbours lead into the middle of its
group. Then, greedily, the fullest ball is taken: its centre moves to the mean of what it holds
until it rests, its members are removed, and so on while at least `smallest` clients fit. The
ball's radius follows from the distances to the q-th neighbour; two wider passes look for groups
that are sparser than most.

In three dimensions or fewer the distances in a group vary so much that a ball is smaller than the
group. There a mode is given to an earlier, fuller one if the middle between them is not emptier
than half of it.

Nothing depends on the order of the clients: ties go to the denser ball.
"""

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.density.constants import Constants

_STEPS = 3
"""Nearest-neighbour steps from every client."""
_REST = 50
"""A ball that still moves after so many steps is taken where it is."""
_FEW_DIMENSIONS = 3
"""Up to so many, a group may have several modes."""
_ROUNDING = 1e-12
"""Distances are not known better than this, in units of the points' coordinates."""


def find_modes(points: Array, smallest: int, constants: Constants) -> Labels:
    """The mode of every point, numbered from 0, or -1; shape (m,). Cost O(m^2 p)."""
    labels = np.full(len(points), -1)
    if len(points) < smallest:
        return labels
    q = min(
        max(constants.fewest_neighbours, round(constants.neighbours * len(points))), len(points) - 1
    )
    distances, typical = _toward_the_middle(points, q)
    rounding = _ROUNDING * float(np.median(np.abs(points).max(axis=1)))
    centres: list[Array] = []
    for width in (1.0, constants.second_pass, constants.third_pass):
        radius = width * constants.reach * typical + rounding
        while (members := _fullest(points, distances, labels < 0, radius)).sum() >= smallest:
            centre = points[members].mean(axis=0)
            host = _host(points, centres, centre, radius, int(members.sum()))
            if host is None:
                centres.append(centre)
                host = len(centres) - 1
            labels[members] = host
    return labels


def _toward_the_middle(points: Array, q: int) -> tuple[Array, float]:
    """Distances of every point, moved by some steps, to all points, and the typical distance.

    A step goes to the mean of the q + 1 nearest; typical is the median distance to the q-th.
    """
    distances = cdist(points, points)
    typical = float(np.median(np.partition(distances, q, axis=1)[:, q]))
    for _ in range(_STEPS):
        nearest = np.argpartition(distances, q, axis=1)[:, : q + 1]
        distances = cdist(points[nearest].mean(axis=1), points)
    return distances, typical


def _fullest(points: Array, distances: Array, free: Mask, radius: float) -> Mask:
    """The free points in the fullest ball, after it has come to rest."""
    near = (distances <= radius) & free
    held = near.sum(axis=1)
    fullest = np.flatnonzero(held == held.max())
    spread = np.where(near[fullest], distances[fullest], 0).sum(axis=1)
    members: Mask = near[fullest[spread.argmin()]]
    for _ in range(_REST):
        if not members.any():
            break
        moved = free & _within(points, points[members].mean(axis=0), radius)
        if np.array_equal(moved, members):
            break
        members = moved
    return members


def _host(
    points: Array, centres: list[Array], centre: Array, radius: float, held: int
) -> int | None:
    """The first mode that the ball around `centre` belongs to: the middle is as full as half."""
    if points.shape[1] > _FEW_DIMENSIONS:
        return None
    for number, other in enumerate(centres):
        if 2 * _within(points, (centre + other) / 2, radius).sum() >= held:
            return number
    return None


def _within(points: Array, centre: Array, radius: float) -> Mask:
    inside: Mask = ((points - centre) ** 2).sum(axis=1) <= radius**2
    return inside
