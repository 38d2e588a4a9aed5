"""Copies: clients whose noise is that of another.

The noise of two honest clients is independent, so their squared distance is about the sum of their
variances, d (s_i^2 + s_j^2), whatever these are. Clients that are far closer are copies of each
other. One of each group stays, the one in its middle; the others say nothing new, and are aside.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaincinv

from tagma.arrays import Array, Mask
from tagma.strategies.clustering.density.constants import Constants

_RARE = 1e-6
"""In few dimensions distances vary: copies are only what chance brings together less often."""


def superfluous(squared: Array, scales: Array, dimension: int, constants: Constants) -> Mask:
    """Who is a copy of somebody who stays, from squared distances, shape (m, m)."""
    aside = np.zeros(len(scales), dtype=bool)
    chance = 2 * float(gammaincinv(dimension / 2, _RARE)) / dimension
    variances = scales**2
    allowed = min(constants.copied, chance) * dimension
    near = squared < allowed * (variances + variances[:, None])
    np.fill_diagonal(near, False)
    rows = np.flatnonzero(near.any(axis=1))
    if not len(rows):
        return aside
    _, parts = connected_components(near[np.ix_(rows, rows)], directed=False)
    for part in range(parts.max() + 1):
        group = rows[parts == part]
        middle = squared[np.ix_(group, group)].sum(axis=1).argmin()
        aside[np.delete(group, middle)] = True
    return aside
