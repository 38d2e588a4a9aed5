"""Which of the groups found are clusters: drop, merge and split until nothing changes.

Dropped are groups of fewer than `smallest` clients, and those more than twice as wide as most
clients' clusters: a crowd of unrelated Byzantine clients. Merged are two clusters whose centres
differ by less than noise can make two halves of one cluster differ. Split, if that succeeds, are
clusters that spread in some direction more than noise does: by their modes, by those that smaller
balls show, or in the two sides of their mean. Clients outside all balls may form new ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import ceil, sqrt

import numpy as np
from scipy.spatial.distance import pdist, squareform

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.modes import find_modes
from tagma.strategies.clustering.density.polish import OUTSIDE, Fit, polish, renumber
from tagma.strategies.clustering.density.projection import signal_coordinates
from tagma.strategies.clustering.nearest_neighbours import neighbours_within
from tagma.strategies.numerics.noise_edge import edge_of, noise_edge

_SAMPLE = 2000
"""Modes are looked for among so many vectors at most."""


def find_clusters(vectors: Array, smallest: int, constants: Constants) -> Fit:
    """All clusters of at least `smallest` clients."""
    modes = _modes(vectors, smallest, constants)
    fit = settle(vectors, modes, smallest, constants)
    while (finer := _refine(vectors, fit, smallest, constants)) is not None:
        fit = finer
    return fit


def _modes(vectors: Array, smallest: int, constants: Constants) -> Labels:
    """The modes of evenly spaced vectors, if there are very many; the others are in none yet."""
    step = ceil(len(vectors) / _SAMPLE)
    sample = signal_coordinates(vectors[::step], constants)
    labels = np.full(len(vectors), OUTSIDE)
    labels[::step] = find_modes(sample, max(2, smallest // step), constants)
    return labels


def settle(vectors: Array, members: Labels, smallest: int, constants: Constants) -> Fit:
    """Polish, drop and merge until all clusters are sound."""
    fit = polish(vectors, members, constants)
    while fit.k:
        unsound = (fit.sizes < smallest) | (fit.balls.scales > constants.wide * fit.balls.pooled)
        if unsound.any():
            members = renumber(fit.members, np.flatnonzero(unsound))
        else:
            pair = _indistinct(fit, len(vectors), constants)
            if pair is None:
                break
            members = renumber(np.where(fit.members == pair[1], pair[0], fit.members))
        fit = polish(vectors, members, constants)
    return fit


def _indistinct(fit: Fit, clients: int, constants: Constants) -> tuple[int, int] | None:
    """The two clusters that are most clearly one, if there are any."""
    if fit.k < 2:
        return None
    d = fit.centres.shape[1]
    variance = fit.balls.pooled**2 / d
    noise = variance * d * (1 / fit.sizes + 1 / fit.sizes[:, None])
    gaps = squareform(pdist(fit.centres, "sqeuclidean")) - noise
    np.fill_diagonal(gaps, np.inf)
    first, second = np.unravel_index(gaps.argmin(), gaps.shape)
    edge = constants.resolution * noise_edge(clients, d)
    if gaps[first, second] >= edge**2 * variance:
        return None
    return int(first), int(second)


def _refine(vectors: Array, fit: Fit, smallest: int, constants: Constants) -> Fit | None:
    """The same with at least one more cluster, or None."""
    for rows, split in _splits(vectors, fit, smallest, constants):
        modes = split(vectors[rows])
        members = fit.members.copy()
        members[rows] = np.where(modes >= 0, fit.k + modes, OUTSIDE)
        if len(np.unique(members[members >= 0])) <= fit.k:
            continue
        finer = settle(vectors, members, smallest, constants)
        if finer.k > fit.k:
            return finer
    return None


def _splits(
    vectors: Array, fit: Fit, smallest: int, constants: Constants
) -> Iterator[tuple[Labels, Callable[[Array], Labels]]]:
    """Rows that may be clusters of their own, and how to tell which is in which."""
    modes = partial(_modes, smallest=smallest, constants=constants)
    rows = _in_company(vectors, fit, smallest, constants)
    if len(rows) >= smallest:
        yield rows, modes
    smaller = replace(constants, reach=constants.finer * constants.reach)
    for number in range(fit.k):
        rows = _stretched(vectors, fit, number, constants)
        if len(rows) >= 2 * smallest:
            yield rows, modes
            yield rows, partial(_modes, smallest=smallest, constants=smaller)
            yield rows, _sides


def _in_company(vectors: Array, fit: Fit, smallest: int, constants: Constants) -> Labels:
    """The clients outside that have enough neighbours to make a cluster that is not too wide."""
    outside = np.flatnonzero(fit.members == OUTSIDE)
    if len(outside) < smallest:
        return outside[:0]
    reach = 2 * sqrt(2) * constants.wide * fit.balls.pooled if fit.k else np.inf
    return outside[neighbours_within(vectors[outside], reach) >= smallest - 1]


def _stretched(vectors: Array, fit: Fit, number: int, constants: Constants) -> Labels:
    """A cluster's rows, if its largest deviation exceeds that of isotropic noise."""
    rows = np.flatnonzero(fit.members == number)
    centred = vectors[rows] - fit.centres[number]
    m, d = centred.shape
    if m < 3:
        return rows[:0]
    products = centred @ centred.T if m <= d else centred.T @ centred
    squares = np.linalg.eigvalsh(products)[::-1][: m - 1]  # centred, m rows have rank m - 1
    values = np.sqrt(np.maximum(squares, 0))
    return rows if values[0] > constants.stretch * edge_of(values, m - 1, d) else rows[:0]


def _sides(rows: Array) -> Labels:
    """On which side of the mean every row is, in the direction in which they differ most."""
    centred = rows - rows.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    return (centred @ direction > 0).astype(np.int64)
