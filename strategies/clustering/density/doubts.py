"""What may be wrong with clusters although each looks sound, for which there is no better answer.

- Two that are hardly apart may be one: parts of few clients differ by more than the halves of a
  cluster do.
- Tight clusters that are as far from each other as clients of one cluster are may be copies, each
  of one of these. Where one client is nearer to the others' mean than noise allows, they are.
- Clients whose noise explains two clusters about as well may be in the wrong one.
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
from tagma.strategies.clustering.density.revision import Known, distances

_HARDLY = 4.2
"""Clusters nearer than this may be parts of one."""
_BETWEEN = 2.5
"""A client that is nearer by less, in deviations, may be in the wrong cluster."""
_FEW = 3
"""So many clients are a group."""
_MOST = 5000
"""Of more clients outside so many are looked at."""
_RARE = 0.01
_CHANCE = 0.001
_CERTAIN = 1e-5
"""So seldom is an honest client so near to the mean of the others of its cluster."""
_TIGHT = 0.85
"""The noise of copies, in units of the usual one."""
_NO_COPY = 2.0
"""Whose squared distance from the middle is more than so many medians is another client."""
_HONEST = 0.75
"""The usual noise: copies and those they copy may be more than half."""


@dataclass(frozen=True)
class Doubts:
    """About K clusters of m vectors."""

    twins: Labels
    """The cluster that each is hardly apart from, or -1, shape (K,)."""
    satellites: Mask
    """Those that may be copies of one client each, shape (K,)."""
    between: Mask
    """Members that may be another cluster's, shape (m,)."""
    loose: Labels
    """The group of clients that are near each other and in no cluster, or -1, shape (m,)."""


def doubts_about(known: Known, fit: Fit) -> Doubts:
    """All of them; cost O(K^2 M d + m K d)."""
    twins = np.full(fit.k, OUTSIDE)
    for apart, pair in sorted(distances(known, fit), reverse=True):
        if apart < _HARDLY:
            twins[list(pair)] = pair[::-1]
    satellites = _satellites(fit, known.vectors.shape[1], known.constants.room)
    return Doubts(twins, satellites, _between(known, fit), _loose(known, fit))


def _satellites(fit: Fit, dimension: int, room: float) -> Mask:
    """At least three tight clusters whose centres differ as clients of usual noise do."""
    found = np.zeros(fit.k, dtype=bool)
    if fit.k < _FEW:
        return found
    own = [float(np.median(fit.noise.scales[fit.members == c])) for c in range(fit.k)]
    usual = float(np.quantile(fit.noise.scales[fit.members >= 0], _HONEST))
    tight = np.flatnonzero(np.array(own) < _TIGHT * usual)
    if len(tight) < _FEW:
        return found
    squared = cdist(fit.centres[tight], fit.centres[tight], "sqeuclidean")
    relative = squared / (2 * usual**2)
    least, most = (float(chdtri(dimension, share)) for share in (1 - _CHANCE, _CHANCE))
    near = (relative >= least / room) & (relative <= most * room)
    _, parts = connected_components(near, directed=False)
    found[tight] = np.bincount(parts)[parts] >= _FEW
    return found


def surrounding(known: Known, fit: Fit) -> Mask:
    """Clients of such clusters who surround one, which is in their middle; shape (m,)."""
    aside = np.zeros(len(known.vectors), dtype=bool)
    dimension = known.vectors.shape[1]
    least = float(chdtri(dimension, 1 - _CERTAIN))
    for cluster in np.flatnonzero(_satellites(fit, dimension, known.constants.room)):
        rows = np.flatnonzero(fit.members == cluster)
        points = known.vectors[rows] - fit.centres[cluster]
        count = len(rows)
        squares = ((points * count - points.sum(axis=0)) ** 2).sum(axis=1) / (count - 1) ** 2
        middle = int(squares.argmin())
        others = np.delete(points, middle, axis=0)
        variance = others.var(axis=0).sum() / dimension * (count - 1) / (count - 2)
        if squares[middle] < least * variance * count / (count - 1):
            away = ((points - points[middle]) ** 2).sum(axis=1)
            near = away <= _NO_COPY * np.median(np.delete(away, middle))
            aside[rows[near]] = True
            aside[rows[middle]] = False
    return aside


def _between(known: Known, fit: Fit) -> Mask:
    """Members whose noise explains a second cluster, nearly as well."""
    between = np.zeros(len(known.vectors), dtype=bool)
    if fit.k < 2:
        return between
    squared, allowed = explained(known.vectors, fit, known.constants)
    deviations = np.sqrt(np.sort(squared, axis=1)[:, :2])
    close = deviations[:, 1] - deviations[:, 0] < _BETWEEN
    found: Mask = (fit.members >= 0) & close & (deviations[:, 1] ** 2 <= allowed)
    return found


def _loose(known: Known, fit: Fit) -> Labels:
    """Clients outside who are nearer to each other than to any cluster, as noise explains."""
    loose = np.full(len(known.vectors), OUTSIDE)
    rows = np.flatnonzero(fit.members == OUTSIDE)
    rows = rows[some_of(len(rows), _MOST)]
    if len(rows) < _FEW or not fit.k:
        return loose
    points = known.vectors[rows]
    scales = _capped(fit, rows, known.constants)
    away = cdist(points, fit.centres, "sqeuclidean").min(axis=1)
    squared = cdist(points, points, "sqeuclidean")
    allowed = float(chdtri(points.shape[1], _RARE)) * (scales**2 + scales[:, None] ** 2)
    near = squared <= np.minimum(allowed, np.minimum(away, away[:, None]))
    _, parts = connected_components(near, directed=False)
    large = np.flatnonzero(np.bincount(parts) >= _FEW)
    for number, part in enumerate(large):
        loose[rows[parts == part]] = number
    return loose


def _capped(fit: Fit, rows: Labels, constants: Constants) -> Array:
    """Noise as far as it is believed: outside all clusters it holds the way to them, too."""
    most = constants.noisiest * fit.noise.typical
    scales: Array = np.minimum(fit.noise.scales[rows], most)
    return scales
