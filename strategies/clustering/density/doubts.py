"""What may be wrong with clusters although each looks sound, for which there is no better answer.

- Two that are hardly apart may be one: parts of few clients differ by more than the halves of a
  cluster do.
- Tight clusters that are as far from each other as clients of one cluster are may be copies, each
  of one of these. Where one client is nearer to the others' mean than noise allows, they are.
- Clients whose noise explains two clusters may be in the wrong one, if the odds allow it.
- Clients outside who are nearer to each other than to any cluster may be a small one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.special import chdtri

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.drawn import some_of
from tagma.strategies.clustering.density.membership import OUTSIDE, Fit, explained
from tagma.strategies.clustering.density.revision import Known, near_pairs

_MOST = 5000
"""Of more clients outside so many are looked at."""
_USUAL = 0.75
"""The quantile of noise that is usual: copies and those they copy may be more than half."""


@dataclass(frozen=True)
class Doubts:
    """About K clusters of m vectors."""

    twins: Labels
    """The cluster that each is hardly apart from, or -1, shape (K,)."""
    satellites: Mask
    """Those that may be copies of one client each, shape (K,)."""
    between: Mask
    """The clusters that each may be of, where these are several, shape (m, K)."""
    loose: Labels
    """The group of clients that are near each other and in no cluster, or -1, shape (m,)."""


def doubts_about(known: Known, fit: Fit) -> Doubts:
    """All of them; cost O(K^2 M d + m K d)."""
    twins = np.full(fit.k, OUTSIDE)
    for _, pair in sorted(near_pairs(known, fit, known.constants.doubting.hardly), reverse=True):
        twins[list(pair)] = pair[::-1]
    satellites = _satellites(known, fit)
    return Doubts(twins, satellites, _between(known, fit), _loose(known, fit))


def _satellites(known: Known, fit: Fit) -> Mask:
    """Tight clusters, as many as there are alike, whose centres differ as usual clients do."""
    limits, few = known.constants.doubting, _few(known)
    found = np.zeros(fit.k, dtype=bool)
    if fit.k < few:
        return found
    own = [float(np.median(fit.noise.scales[fit.members == c])) for c in range(fit.k)]
    usual = float(np.quantile(fit.noise.scales[fit.members >= 0], _USUAL))
    tight = np.flatnonzero(np.array(own) < limits.tight * usual)
    if len(tight) < few:
        return found
    squared = cdist(fit.centres[tight], fit.centres[tight], "sqeuclidean")
    relative = squared / (2 * usual**2)
    dimension, room = known.vectors.shape[1], known.constants.room
    least, most = (float(chdtri(dimension, share)) for share in (1 - limits.chance, limits.chance))
    near = (relative >= least / room) & (relative <= most * room)
    _, parts = connected_components(near, directed=False)
    found[tight] = np.bincount(parts)[parts] >= few
    return found


def _few(known: Known) -> int:
    """So many are a group, although too few for a cluster."""
    return known.smallest - 1


def surrounding(known: Known, fit: Fit) -> Mask:
    """Clients of such clusters who surround one, which is in their middle; shape (m,)."""
    aside = np.zeros(len(known.vectors), dtype=bool)
    dimension, limits = known.vectors.shape[1], known.constants.doubting
    least = float(chdtri(dimension, 1 - limits.certain))
    for cluster in np.flatnonzero(_satellites(known, fit)):
        rows = np.flatnonzero(fit.members == cluster)
        points = known.vectors[rows] - fit.centres[cluster]
        count = len(rows)
        squares = ((points * count - points.sum(axis=0)) ** 2).sum(axis=1) / (count - 1) ** 2
        middle = int(squares.argmin())
        others = np.delete(points, middle, axis=0)
        variance = others.var(axis=0).sum() / dimension * (count - 1) / (count - 2)
        if squares[middle] < least * variance * count / (count - 1):
            away = ((points - points[middle]) ** 2).sum(axis=1)
            near = away <= limits.no_copy * np.median(np.delete(away, middle))
            aside[rows[near]] = True
            aside[rows[middle]] = False
    return aside


def _between(known: Known, fit: Fit) -> Mask:
    """The clusters of those who are in the nearest with less than certainty.

    Distances from the true centre, in units of noise that is known with f degrees of freedom, have
    Student's density (1 + q / f)^(-(f + p) / 2).
    """
    if fit.k < 2:
        return np.zeros((len(known.vectors), fit.k), dtype=bool)
    squared, _ = explained(known.vectors, fit, known.constants)
    freedom = fit.noise.freedom + known.constants.borrowed
    logarithms = np.log1p(squared / freedom)
    odds = (logarithms - logarithms.min(axis=1, keepdims=True)) * (freedom + fit.k - 1) / 2
    likely: Mask = odds < np.log(1 / known.constants.doubting.chance)
    return likely & (likely.sum(axis=1, keepdims=True) > 1)


def _loose(known: Known, fit: Fit) -> Labels:
    """Clients outside who are nearer to each other than to any cluster, as noise explains."""
    loose = np.full(len(known.vectors), OUTSIDE)
    rows = np.flatnonzero(fit.members == OUTSIDE)
    rows = rows[some_of(len(rows), _MOST)]
    if len(rows) < _few(known) or not fit.k:
        return loose
    points = known.vectors[rows]
    scales = _capped(fit, rows, known.constants)
    away = cdist(points, fit.centres, "sqeuclidean").min(axis=1)
    squared = cdist(points, points, "sqeuclidean")
    allowed = float(chdtri(points.shape[1], known.constants.doubting.chance)) * (
        scales**2 + scales[:, None] ** 2
    )
    near = squared <= np.minimum(allowed, np.minimum(away, away[:, None]))
    _, parts = connected_components(near, directed=False)
    large = np.flatnonzero(np.bincount(parts) >= _few(known))
    for number, part in enumerate(large):
        loose[rows[parts == part]] = number
    return loose


def _capped(fit: Fit, rows: Labels, constants: Constants) -> Array:
    """Noise as far as it is believed: outside all clusters it holds the way to them, too."""
    most = constants.noisiest * fit.noise.typical
    scales: Array = np.minimum(fit.noise.scales[rows], most)
    return scales
