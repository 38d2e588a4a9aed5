"""Clustering of trained models in few dimensions: for neural networks.

A model that was trained for some epochs from the common initial model differs from it by its
update. Long updates say little more than short ones, so all are cut to length 1. Their noise is
far from even in all dimensions: a clustering that measures noise by dimensions takes the few in
which it is strong for clusters. Under a random Gaussian projection to p dimensions it is even, and
distances change by about sqrt(2 / p) only (Johnson and Lindenstrauss, 1984).

What one projection hides or makes up another does not. So there are several, and of the clusterings
that they lead to that one is taken which agrees best with the others, by the pairs of clients that
are in one cluster or not (Rand, 1971).

Updates that point away from most are set aside first, and where some clients have far fewer
examples than others, those with the fewest: these belong to the centre that explains most of their
update, if it explains enough. Who is left belongs to nobody, or to clusters of their own.

Cost O(m^2 d) for the products of all updates, on which the projections are made, and that of the
clusterings, which does not depend on d.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.memory import check_memory
from tagma.rng import stream
from tagma.strategies.clustering.clustering import Clustering

DIMENSION = 100
"""Of the projections."""
PROJECTIONS = 11
_PER_PAIR = 8 * 4 + PROJECTIONS
"""Bytes: products, their eigenvectors, and who is with whom in every projection."""
_UNEVEN = 0.5
"""A tenth of the clients with less than this share of the median examples is uneven."""
_FEW = 0.2
"""Then this share of the clients, those with the fewest examples, comes second."""
_FEWEST = 4
"""Among fewer clients no cluster is looked for."""
_EXPLAINED = 1 / 3
"""Of the way to a centre that an update of its cluster must go."""

Cluster = Callable[..., Clustering]
"""From points (m, p) and the keyword `examples`, shape (m,) or None, to clusters."""


def reduced(
    cluster: Cluster, local_models: Array, initial: Array, examples: Labels | None, seed: int
) -> Clustering:
    """The clusters of these models, shape (m, d), that were trained from the initial one."""
    m = len(local_models)
    check_memory(
        _PER_PAIR * m**2,
        f"clustering.reduce=projection of {m:,} clients compares all pairs, which",
        "clustering.reduce=null does not",
    )
    points = coordinates(local_models - initial)
    first, against = with_more(examples, len(points)), opposed(points)
    found = []
    few = local_models.shape[1] <= DIMENSION  # a projection would not make their noise more even
    for number in range(1 if few else PROJECTIONS):
        projected = points if few else projection(points, seed, number)
        found.append(_in_two_passes(cluster, points, projected, first, against, examples))
    return _in_full(local_models, found[most_agreeing(found)])


def coordinates(updates: Array) -> Array:
    """The updates at length 1, in at most as many coordinates as there are; distances are kept."""
    updates = updates.astype(np.float64)
    lengths = np.linalg.norm(updates, axis=1, keepdims=True)
    updates /= np.maximum(lengths, np.finfo(np.float64).tiny)
    if updates.shape[1] <= len(updates):
        return updates
    squares, vectors = np.linalg.eigh(updates @ updates.T)
    return vectors * np.sqrt(np.maximum(squares, 0))


def projection(points: Array, seed: int, number: int) -> Array:
    """The points in `DIMENSION` random directions.

    Points that were rotated from more dimensions count as having these: a Gaussian projection of
    all dimensions is one of those that the points span.
    """
    random = stream(seed, "projection", number)
    return points @ random.standard_normal((points.shape[1], DIMENSION)) / np.sqrt(DIMENSION)


def most_agreeing(groupings: Sequence[Clustering]) -> int:
    """Which of these groupings agrees best with the others; who is trimmed belongs to nobody."""
    together = []
    for found in groupings:
        own = np.where(found.trimmed, -1 - np.arange(len(found.labels)), found.labels)
        together.append(own[:, None] == own)
    agreement = [sum(int((one == other).sum()) for other in together) for one in together]
    return int(np.argmax(agreement))


def with_more(examples: Labels | None, m: int) -> Mask:
    """The clients that are clustered first, shape (m,): all, unless some have far fewer examples.

    Who does not say how many it has counts as one with as many as most.
    """
    if examples is None or not (examples > 0).any():
        return np.ones(m, dtype=bool)
    examples = np.where(examples > 0, examples, np.median(examples[examples > 0]))
    if np.quantile(examples, 0.1) >= _UNEVEN * np.median(examples):
        return np.ones(m, dtype=bool)
    enough: Mask = examples >= np.quantile(examples, _FEW)
    return enough


def opposed(points: Array) -> Mask:
    """Whose update points away from most; nobody's, if these are half of all.

    What all clusters have in common is much of an update. Its opposite is so far from all of them
    that beside it they look alike.
    """
    away: Mask = points @ np.median(points, axis=0) < 0
    return away & (2 * away.sum() < len(away))


def _in_two_passes(
    cluster: Cluster,
    points: Array,
    projected: Array,
    first: Mask,
    against: Mask,
    examples: Labels | None,
) -> Clustering:
    """The clusters of the first clients, then those of the clients that belong to none of them.

    Those against most belong to none. Which cluster explains the others is seen without projection.
    """

    def of(rows: Mask) -> Clustering:
        return cluster(projected[rows], examples=None if examples is None else examples[rows])

    known, first = first | against, first & ~against
    found = of(first)
    rows = np.flatnonzero(first)
    members = [rows[(found.labels == k) & ~found.trimmed] for k in range(found.k)]
    labels, trimmed = explained_by(points, np.array([points[own].mean(axis=0) for own in members]))
    trimmed |= against
    labels[first], trimmed[first] = found.labels, found.trimmed
    centres, radii = found.centres, found.radius
    left = trimmed & known  # of those with few examples none makes a cluster
    if first.all() or left.sum() < _FEWEST:
        return _grouping(labels, trimmed, centres, radii, found)
    more = of(left)
    if np.isfinite(more.radius).all():
        rows = np.flatnonzero(left)[~more.trimmed]  # others stay with the nearest of the first
        labels[rows], trimmed[rows] = len(centres) + more.labels[~more.trimmed], False
        centres, radii = np.vstack([centres, more.centres]), np.append(radii, more.radius)
    return _grouping(labels, trimmed, centres, radii, found)


def _grouping(
    labels: Labels, trimmed: Mask, centres: Array, radii: Array, found: Clustering
) -> Clustering:
    """What is said of the spread of clusters holds for even noise, not for that of training."""
    return replace(
        found, labels=labels, trimmed=trimmed, centres=centres, radius=radii,
        history=labels[None], noise=None, scale=None, between=None, loose=None,
        stopped=f"{len(centres)} clusters of updates",
        suspect=(), stretched=(),
    )  # fmt: skip


def explained_by(points: Array, centres: Array) -> tuple[Labels, Mask]:
    """The centre in whose direction each point is most, and whether it explains too little of it.

    Directions are from the middle of the centres. The nearest centre would be a short one for all
    that are noisy.
    """
    middle = centres.mean(axis=0) if len(centres) > 1 else np.zeros_like(centres[0])
    away, ways = points - middle, centres - middle
    squares = np.maximum(np.einsum("ij,ij->i", ways, ways), np.finfo(np.float64).tiny)
    along = away @ ways.T
    labels = (along / np.sqrt(squares)).argmax(axis=1)
    share = along[np.arange(len(points)), labels] / squares[labels]
    return labels, share < _EXPLAINED


def _in_full(models: Array, found: Clustering) -> Clustering:
    """The clusters with the means of their members' models as centres, and balls around these."""
    centres, radii = [], []
    for k in range(found.k):
        own = models[(found.labels == k) & ~found.trimmed].astype(np.float64)
        centre = np.median(own, axis=0) if np.isinf(found.radius[k]) else own.mean(axis=0)
        centres.append(centre)
        radii.append(
            found.radius[k] if np.isinf(found.radius[k])
            else np.linalg.norm(own - centre, axis=1).max()
        )  # fmt: skip
    return replace(found, centres=np.array(centres), radius=np.array(radii))
