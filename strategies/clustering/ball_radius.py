"""How far honest vectors lie from their cluster's centre: robust scales and the radius of a ball.

Distances of honest vectors from their centre concentrate, so their logarithms are close to normal.
The centre of that distribution is the log of their median s_k; its spread tau is taken from the
lower quartile, which Byzantine clients, who come from outside, do not reach. The ball ends four
spreads above the median:

    r_k = s * min(exp(4 tau), 1.9),  but at least s * the reach of normal noise in d dimensions,
    s   = s_k^(M / (M + 8)) * s_0^(8 / (M + 8)):

a cluster of M clients takes part of its scale from all clusters' s_0, as if it had eight more.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, sqrt

import numpy as np
from scipy.special import gammaincinv, ndtri

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.clustering import Clustering

_SPREADS = 4.0
"""How many spreads of log distances above the median a ball ends."""
_BORROWED = 8.0
"""Vectors that a cluster's scale borrows from all clusters."""
_WIDEST = 1.9
"""A ball ends at this many median distances at most."""
_HONEST = 0.999
"""Share of normal vectors that every ball must hold."""

_QUARTILE = float(ndtri(0.25))
"""The lower quartile of a standard normal variable."""


@dataclass(frozen=True)
class Balls:
    """The scale of distances in every cluster, and its ball."""

    scales: Array
    """The median distance s_k of a cluster's vectors from its centre, shape (K,)."""
    pooled: float
    """s_0, the median over all vectors of their cluster's scale."""
    radii: Array
    """Shape (K,)."""


def balls_around(distances: Array, labels: Labels, k: int, dimension: int) -> Balls:
    """Balls from the distances of vectors to the centre of their cluster, all of shape (n,).

    The vectors should be mostly honest: those that an earlier ball holds. A cluster without any
    gets the pooled scale. Cost O(n log n).
    """
    sizes = np.bincount(labels, minlength=k)
    scales = _medians(distances, labels, sizes)
    pooled = float(np.median(scales[labels])) if len(labels) else 0.0
    scales = np.where(sizes > 0, scales, pooled)
    floor = np.finfo(np.float64).tiny
    weight = sizes / (sizes + _BORROWED)
    shrunk = np.maximum(scales, floor) ** weight * max(pooled, floor) ** (1 - weight)
    relative = np.maximum(distances, floor) / np.maximum(scales, floor)[labels]
    reach = min(exp(_SPREADS * _log_spread(relative)), _WIDEST)
    factor = max(reach, normal_reach(dimension))
    return Balls(scales, pooled, shrunk * factor)


def common_radius(vectors: Array, rough: Clustering) -> float:
    """One radius for all clusters, from a rough clustering: the median over its vectors."""
    kept = ~rough.trimmed
    if not kept.any():
        return float(rough.radius[0])
    labels = rough.labels[kept]
    distances = np.linalg.norm(vectors[kept] - rough.centres[labels], axis=1)
    radii = balls_around(distances, labels, rough.k, vectors.shape[1]).radii
    return float(np.median(radii[labels]))


def _medians(values: Array, labels: Labels, sizes: Labels) -> Array:
    """The median of every group's values, NaN for an empty one: one sort for all groups."""
    ordered = np.append(values[np.lexsort((values, labels))], np.nan)
    first = np.cumsum(sizes) - sizes
    lower, upper = first + (sizes - 1) // 2, first + sizes // 2
    middle = (ordered[lower] + ordered[upper]) / 2
    return np.where(sizes > 0, middle, np.nan)


def _log_spread(relative: Array) -> float:
    """The standard deviation of log distances whose median is 0, from their lower quartile."""
    if not len(relative):
        return 0.0
    quartile = np.partition(relative, len(relative) // 4)[len(relative) // 4]
    return min(max(0.0, float(np.log(quartile) / _QUARTILE)), 1.0)


@lru_cache(maxsize=64)
def normal_reach(dimension: int) -> float:
    """The length that a share 0.999 of standard normal vectors stay below, over their median."""
    inner, outer = gammaincinv(dimension / 2, [0.5, _HONEST])
    return sqrt(outer / inner)
