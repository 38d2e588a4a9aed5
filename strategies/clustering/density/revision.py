"""Which of the groups found are clusters: drop, merge and split until nothing changes.

Dropped are groups of fewer than `smallest` clients. Two clusters are merged unless they are apart
(`separation`). One that spreads in some direction more than noise does is split, if that gives one
more: by the modes in these directions, or in the two sides of its mean. Clients outside all
clusters may form new ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.drawn import some_of
from tagma.strategies.clustering.density.membership import (
    OUTSIDE,
    Fit,
    polish,
    renumber,
    weights_by,
)
from tagma.strategies.clustering.density.modes import find_modes
from tagma.strategies.clustering.density.noise import Noise
from tagma.strategies.clustering.density.separation import (
    Group,
    apart_at_least,
    beyond_noise,
    most_inside,
    of_most,
    separation,
    two_means,
    without_noise,
)

_MOST = 2000
"""Of more clients than this so many are looked at, drawn at random, when pairs matter."""
_LONGEST = 3.0
"""Clusters are not taken for more elongated than this, in variance."""
_MADE = 0.5
"""Separation may be so much less in all directions than in the strongest."""
_BOUND = 1 - 1e-9
"""Rounding of a bound."""
_USUAL = 0.5
"""Elongation is that of clusters which hold so many clients: some are two that were merged."""


@dataclass(frozen=True)
class Known:
    """What is known of the vectors before there are clusters."""

    vectors: Array
    strong: Array
    """The vectors in the strongest directions of all clients, shape (m, p)."""
    directions: Array
    """These directions, shape (p, d)."""
    spreads: Array
    """Their noise by near neighbours, shape (m,)."""
    typical: float
    """A first guess of the noise of their entries."""
    inflation: float
    """A first guess of the variance where the centres differ, over that elsewhere."""
    room: Array
    """By how much each may be noisier, shape (m,)."""
    smallest: int
    constants: Constants

    def only(self, rows: Labels) -> "Known":
        """The same of some of the vectors."""
        return replace(
            self, vectors=self.vectors[rows], strong=self.strong[rows],
            spreads=self.spreads[rows], room=self.room[rows],
        )  # fmt: skip


def settle(known: Known, members: Labels, typical: float) -> Fit:
    """Polish, drop and merge until all clusters are sound."""
    fit = polish(known.vectors, members, typical, known.inflation, known.room, known.constants)
    while fit.k:
        small = fit.sizes < known.smallest
        if small.any():
            members = renumber(fit.members, np.flatnonzero(small))
        else:
            pair = _indistinct(known, fit)
            if pair is None:
                break
            members = renumber(np.where(fit.members == pair[1], pair[0], fit.members))
        fit = polish(
            known.vectors, members, fit.noise.typical, known.inflation, known.room, known.constants
        )
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
            return _with_noisy(known, fit)


def _with_noisy(known: Known, fit: Fit) -> Fit:
    """The same and clusters of clients who are outside for their noise alone, if there are any.

    They are their own clusters or none: nobody else's changes by them.
    """
    most = known.constants.noisiest * fit.noise.typical
    noisy = (
        (fit.members == OUTSIDE) & (fit.noise.scales > fit.noise.limit) & (known.spreads <= most)
    )
    rows = np.flatnonzero(noisy)
    rows = rows[some_of(len(rows), _MOST)]
    if len(rows) < known.smallest:
        return fit
    squared = cdist(known.vectors[rows], known.vectors[rows], "sqeuclidean")
    modes = find_modes(known.vectors[rows], squared, known.spreads[rows], known.smallest)
    room = np.where(noisy, known.constants.noisiest, known.room)
    members = fit.members.copy()
    members[rows] = np.where(modes >= 0, fit.k + modes, OUTSIDE)
    more = settle(replace(known, room=room), members, fit.noise.typical)
    old = fit.members >= 0
    same = more.k > fit.k and len(np.unique(more.members[old])) == fit.k
    return (
        more
        if same and np.array_equal(_first(more.members[old]), _first(fit.members[old]))
        else fit
    )


def _first(labels: Labels) -> Labels:
    """Labels by the first row that has each: equal for equal groupings."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    found: Labels = first[which]
    return found


def _indistinct(known: Known, fit: Fit) -> tuple[int, int] | None:
    """The two clusters that are most clearly one, if there are any."""
    found = min(near_pairs(known, fit, known.constants.apart), default=None)
    return None if found is None else found[1]


def near_pairs(known: Known, fit: Fit, within: float) -> list[tuple[float, tuple[int, int]]]:
    """The clusters that are apart by less than so many deviations, by how many, and which they are.

    Pairs that cannot be are passed over by a bound.
    """
    strong, whole = [], []
    weights = weights_by(fit.noise.scales, fit.noise.typical)
    for number in range(fit.k):
        own = np.flatnonzero(fit.members == number)
        noise = _pooled(fit.noise, own, weights[own], known.constants)
        strong.append(Group(known.strong[own], weights[own], noise))
        whole.append(Group(known.vectors[own], weights[own], noise))
    elongation = _elongation(strong) if fit.k else 1.0
    for group in (*strong, *whole):
        group.variance *= elongation
    least = np.minimum(apart_at_least(whole), apart_at_least(strong)) * _BOUND
    pairs = []
    for a, b in np.argwhere(np.tril(least < within, -1)).tolist():
        both, inside = (whole[b], whole[a]), (strong[b], strong[a])
        found = separation(*both)
        if most_inside(both, inside):  # in directions that a few clients may have made strong
            found = min(separation(*inside), found + _MADE)
        if found < within:
            pairs.append((found, (b, a)))
    return pairs


def _pooled(noise: Noise, rows: Labels, weights: Array, constants: Constants) -> float:
    """The variance of these clients' entries; all of them borrow what one borrows elsewhere."""
    borrowed = constants.borrowed
    own = (noise.freedom + borrowed) * noise.scales[rows] ** 2 - borrowed * noise.typical**2
    total = float(weights @ np.maximum(own, 0)) + borrowed * noise.typical**2
    return total / (noise.freedom * float(weights.sum()) + borrowed)


def _elongation(groups: list[Group]) -> float:
    """The variance of most clusters' clients in one of the strongest directions, in units of noise.

    Losses may scatter their minimisers more in some directions: no reason to split one cluster.
    """
    found = []
    if not len(groups[0].centre):
        return 1.0
    for group in groups:
        others = max(group.size - 1, 1)
        away = group.away * np.sqrt(group.weights / group.total * group.size)[:, None]
        values, directions = np.linalg.eigh(away.T @ away)
        largest = min(float(values[-1]) / others, of_most(away @ directions[:, -1]) ** 2)
        ratio = len(group.centre) / others
        found.append(without_noise(largest / max(group.variance, 1e-300), ratio))
    sizes = [len(group.away) for group in groups]
    usual = np.quantile(np.repeat(found, sizes), _USUAL)
    return float(np.clip(usual, 1, _LONGEST))


def _splits(known: Known, fit: Fit, tried: set[bytes]) -> Iterator[tuple[Labels, Labels]]:
    """Rows that may be clusters of their own, and which is in which; nothing is tried twice."""
    scales = np.minimum(known.spreads, fit.noise.limit)
    for number in range(OUTSIDE, fit.k):
        rows = np.flatnonzero(fit.members == number)
        least = known.smallest * (1 if number == OUTSIDE else 2)
        if len(rows) < least or rows.tobytes() in tried:
            continue
        tried.add(rows.tobytes())
        points = known.vectors[rows]
        if number != OUTSIDE:
            own = points - fit.centres[number]
            directions = beyond_noise(own, known.constants.stretch)
            if not len(directions):
                continue
            points = own @ directions.T
        drawn = some_of(len(rows), _MOST)
        squared = cdist(points[drawn], points[drawn], "sqeuclidean")
        modes = np.full(len(rows), OUTSIDE)
        modes[drawn] = find_modes(points[drawn], squared, scales[rows[drawn]], known.smallest)
        if modes.max() >= (1 if number != OUTSIDE else 0):
            yield rows, modes
        if number != OUTSIDE:
            yield rows, two_means(own, directions[0])
