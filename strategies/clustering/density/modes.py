"""Where vectors are dense, each with its own noise: modes by flat mean shift.

Two vectors are neighbours if their distance is what the noise of both explains in half of all
cases: |y_i - y_j|^2 <= chi^2_.5 (s_i^2 + s_j^2). Greedily, the one with most neighbours is taken:
a ball around it moves to the mean of what it holds until it rests (Fukunaga and Hostetler, 1975;
Comaniciu, 2002), those near it are removed, and so on while at least `smallest` are neighbours.
Nothing depends on the order of the clients: ties go to the denser ball.
"""

import numpy as np
from scipy.special import chdtri

from tagma.arrays import Array, Labels

_REST = 20
"""A ball that still moves after so many steps is taken where it is."""
_NEAR = 0.99
"""The share of a cluster that is removed with its mode."""


def find_modes(points: Array, squared: Array, scales: Array, smallest: int) -> Labels:
    """The mode of every point, numbered from 0, or -1; shape (m,).

    `squared` are distances between the points. Cost O(m^2).
    """
    m, p = points.shape
    labels = np.full(m, -1)
    half, most = float(chdtri(p, 0.5)), float(chdtri(p, 1 - _NEAR))
    variances = scales**2
    pairs = variances + variances[:, None]
    near = squared <= half * pairs
    free = np.ones(m, dtype=bool)
    held = near.sum(axis=1)
    number = 0
    while True:
        fullest = np.flatnonzero(held == held.max())
        if held[fullest[0]] < smallest:
            return labels
        if len(fullest) > 1:
            away = np.where(near[fullest], squared[fullest], 0)[:, free].sum(axis=1)
            first = fullest[away.argmin()]
        else:
            first = fullest[0]
        members = near[first] & free
        distances = squared[first]
        for _ in range(_REST):
            centre = points[members].mean(axis=0)
            distances = ((points - centre) ** 2).sum(axis=1)
            moved = (distances <= half * variances) & free
            if moved.sum() < smallest or np.array_equal(moved, members):
                break
            members = moved
        taken = free & ((distances <= most * variances) | members)
        taken[first] = True
        if members.sum() >= smallest:
            labels[taken] = number
            number += 1
        free &= ~taken
        held = held - near[:, taken].sum(axis=1)
        held[taken] = 0
