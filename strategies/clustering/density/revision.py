"""Which of the groups found are clusters: drop, merge and split until nothing changes.

Dropped are groups of fewer than `smallest` clients. Two clusters are merged unless they are apart
(`separation`). One that spreads in some direction more than noise does is split, if that gives one
more: by the modes in these directions, or in the two sides of its mean. Clients outside all
clusters may form new ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.membership import OUTSIDE, Fit, polish, renumber
from tagma.strategies.clustering.density.modes import find_modes
from tagma.strategies.clustering.density.separation import (
    beyond_noise,
    most_inside,
    separation,
    two_means,
)
from tagma.strategies.numerics.noise_edge import noise_edge

_MOST = 2000
"""Among more clients outside than this, none are looked for."""
_CLEARLY = 3.0
"""Centres so many times farther than they must be, at the noise edge, need no test."""


@dataclass(frozen=True)
class Known:
    """What is known of the vectors before there are clusters."""

    vectors: Array
    strong: Array
    """The vectors in the strongest directions of all clients, shape (m, p)."""
    spreads: Array
    """Their noise by near neighbours, shape (m,)."""
    typical: float
    """A first guess of the noise of their entries."""
    room: Array
    """By how much each may be noisier, shape (m,)."""
    smallest: int
    constants: Constants


def settle(known: Known, members: Labels, typical: float) -> Fit:
    """Polish, drop and merge until all clusters are sound."""
    fit = polish(known.vectors, members, typical, known.room, known.constants)
    while fit.k:
        small = fit.sizes < known.smallest
        if small.any():
            members = renumber(fit.members, np.flatnonzero(small))
        else:
            pair = _indistinct(known, fit)
            if pair is None:
                break
            members = renumber(np.where(fit.members == pair[1], pair[0], fit.members))
        fit = polish(known.vectors, members, fit.noise.typical, known.room, known.constants)
    return fit


def refine(known: Known, fit: Fit) -> Fit:
    """The same with more clusters, as long as some can be split or found outside."""
    tried: set[bytes] = set()
    while True:
        for rows, parts in _splits(known, fit, tried):
            members = fit.members.copy()
            members[rows] = np.where(parts >= 0, fit.k + parts, OUTSIDE)
            finer = settle(known, members, fit.noise.typical)
            if finer.k > fit.k:
                fit = finer
                break
        else:
            return fit


def _indistinct(known: Known, fit: Fit) -> tuple[int, int] | None:
    """The two clusters that are most clearly one, if there are any."""
    constants, d = known.constants, known.vectors.shape[1]
    worst, pair = constants.apart, None
    rows = [np.flatnonzero(fit.members == number) for number in range(fit.k)]
    scales = np.sqrt(fit.inflation) * fit.noise.scales
    edges = [scales[own].max() * noise_edge(len(own), d) for own in rows]
    gaps = cdist(fit.centres, fit.centres)
    for a, b in zip(*np.tril_indices(fit.k, -1), strict=True):
        if gaps[a, b] > _CLEARLY * constants.apart * max(edges[a], edges[b]):
            continue
        found = _apart(known, rows[a], rows[b], (scales[rows[a]], scales[rows[b]]))
        if found < worst:
            worst, pair = found, (int(b), int(a))
    return pair


def _apart(known: Known, first: Labels, second: Labels, scales: tuple[Array, Array]) -> float:
    """The separation of two groups; in the strongest directions, if these hold it."""
    groups = known.vectors[first], known.vectors[second]
    strong = known.strong[first], known.strong[second]
    if known.strong.shape[1] and most_inside(*groups, *strong, scales):
        groups = strong
    return separation(*groups, scales)


def _splits(known: Known, fit: Fit, tried: set[bytes]) -> Iterator[tuple[Labels, Labels]]:
    """Rows that may be clusters of their own, and which is in which; nothing is tried twice."""
    scales = np.minimum(known.spreads, fit.noise.limit)
    for number in range(OUTSIDE, fit.k):
        rows = np.flatnonzero(fit.members == number)
        least = known.smallest * (1 if number == OUTSIDE else 2)
        if len(rows) < least or len(rows) > _MOST or rows.tobytes() in tried:
            continue
        tried.add(rows.tobytes())
        points = known.vectors[rows]
        if number != OUTSIDE:
            own = points - fit.centres[number]
            directions = beyond_noise(own, known.constants.stretch)
            if not len(directions):
                continue
            points = own @ directions.T
        modes = find_modes(points, cdist(points, points, "sqeuclidean"), scales[rows], known.smallest)
        if modes.max() >= (1 if number != OUTSIDE else 0):
            yield rows, modes
        if number != OUTSIDE:
            yield rows, two_means(own, directions[0])
