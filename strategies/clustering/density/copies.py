"""Copies: clients whose noise is that of another.

The noise of two honest clients is independent, so their squared distance is about the sum of their
variances, d (s_i^2 + s_j^2), whatever these are. Clients that are far closer are copies of each
other. One of each group stays, the one in its middle; the others say nothing new, and are aside.

A group that is farther from everybody else than the noise of its nearest neighbours explains is not
made of copies, unless it hardly scatters at all: no client's noise can have put it there. It may be
a small cluster of its own.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaincinv

from tagma.arrays import Array, Mask
from tagma.strategies.clustering.density.constants import Constants

_RARE = 1e-6
"""In few dimensions distances vary: copies are only what chance brings together less often."""
_SAME = 0.04
"""Far from everybody, copies are nearer by so much."""


def superfluous(
    squared: Array, scales: Array, typical: float, dimension: int, constants: Constants
) -> Mask:
    """Who is a copy of somebody who stays, from squared distances, shape (m, m)."""
    aside = np.zeros(len(scales), dtype=bool)
    # What is left of a far cluster outside the signal directions is no noise.
    variances = np.minimum(scales, typical) ** 2
    explained = 2 * np.minimum(scales, constants.noisiest * typical) ** 2
    explained *= 2 * float(gammaincinv(dimension / 2, 1 - _RARE))
    allowed = copies_are_within(dimension, constants)
    pairs = variances + variances[:, None]
    near = squared < allowed * pairs
    np.fill_diagonal(near, False)
    rows = np.flatnonzero(near.any(axis=1))
    if not len(rows):
        return aside
    _, parts = connected_components(near[np.ix_(rows, rows)], directed=False)
    for part in range(parts.max() + 1):
        group = rows[parts == part]
        others = (squared[group] >= 2 * allowed * pairs[group]).all(axis=0)
        within = squared[np.ix_(group, group)]
        far = others.any() and not (squared[np.ix_(group, others)] <= explained[others]).any()
        if far and within.mean() > _SAME * allowed * pairs[np.ix_(group, group)].mean():
            continue
        middle = within.sum(axis=1).argmin()
        aside[np.delete(group, middle)] = True
    return aside


def copies_are_within(dimension: int, constants: Constants) -> float:
    """The squared distance of copies, in units of the sum of their variances."""
    chance = 2 * float(gammaincinv(dimension / 2, _RARE)) / dimension
    return min(constants.copied, chance) * dimension
