"""How far noise alone stretches: the upper edge of the Marchenko-Pastur law (1967).

The singular values of an m x d matrix of independent entries of deviation sigma end, for large m
and d, at sigma (sqrt(m) + sqrt(d)). What exceeds it is more than noise.
"""

from functools import lru_cache
from math import sqrt

import numpy as np

from tagma.arrays import Array

_NOISE = 0.25
"""The share of singular values, the smallest, that are taken for noise."""


def noise_edge(rows: int, dimension: int) -> float:
    """The largest deviation of so many rows in any direction, in units of sigma."""
    return 1 + sqrt(dimension / rows)


def edge_of(values: Array, rows: int, dimension: int) -> float:
    """The edge for a matrix with these singular values, in descending order.

    sigma follows from the upper end of their smallest quarter, where there is no signal.
    """
    last = values[int((1 - _NOISE) * len(values))]
    return float(last) * _edge_over_noise(rows, dimension)


@lru_cache(maxsize=1024)
def _edge_over_noise(m: int, d: int) -> float:
    """The largest singular value of an m x d matrix of noise, in units of its lower quartile."""
    ratio = min(m, d) / max(m, d)
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    # x = low + (high - low) sin^2(angle) removes the singularities at both ends.
    angle = (np.arange(2000) + 0.5) * np.pi / 4000
    x = low + (high - low) * np.sin(angle) ** 2
    density = (np.sin(angle) * np.cos(angle)) ** 2 / x
    mass = np.cumsum(density)
    return float(np.sqrt(high / x[np.searchsorted(mass, _NOISE * mass[-1])]))
