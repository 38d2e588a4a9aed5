"""Density clustering by each client's own noise: nothing is known in advance.

Neither the number of clusters nor the noise nor the share of Byzantine clients is given; assumed is
only that most clients are honest and that every cluster has at least `smallest` of them.

1. The directions in which clients differ by more than noise (`projection`).
2. Each client's noise, from the other directions (`noise`).
3. Copies aside, one of each group stays (`copies`).
4. Modes in these directions, by the noise of each (`modes`).
5. Members by the noise of each, with directions spanned by the centres (`membership`).
6. Drop, merge and split until nothing changes (`revision`, `separation`).
7. Where coordinates differ in noise, all of it again in units of theirs (`coordinates`).

Clients that are no members are marked as trimmed. Byzantine clients who make up a cluster of the
usual scatter look like an honest one: it is listed as one more, and harms nobody else.

Deterministic, and the same for reordered, moved and scaled vectors, and for rotated ones where no
coordinates are rescaled. Cost O(m^2 d + m K d) with m <= d, else O(m^2 p + m d^2). Beyond `sample`
clients the clusters are found among so many, and everybody judged by them (`many_clients`): O(m d
(K + d)), and what is drawn depends on the order.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge
from scipy.spatial.distance import cdist
from scipy.special import chdtri

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.clustering import Clustering, OwnNoise, of_finite_points
from tagma.strategies.clustering.density.constants import DEFAULTS, Constants
from tagma.strategies.clustering.density.coordinates import (
    coordinate_medians,
    first_units,
    units_within,
)
from tagma.strategies.clustering.density.copies import superfluous
from tagma.strategies.clustering.density.doubts import Doubts, doubts_about, surrounding
from tagma.strategies.clustering.density.drawn import some_of
from tagma.strategies.clustering.density.many_clients import NEIGHBOUR, for_all
from tagma.strategies.clustering.density.membership import OUTSIDE, Fit, split_lengths
from tagma.strategies.clustering.density.modes import find_modes
from tagma.strategies.clustering.density.noise import noise_outside
from tagma.strategies.clustering.density.projection import signal_directions
from tagma.strategies.clustering.density.revision import Known, refine, settle
from tagma.strategies.clustering.density.separation import by_chance, oblong, stretch_of

_FAR = 1e6
"""Vectors beyond so many median lengths are outside before anything is computed."""
_ROUNDING = 1e-9
"""Noise is not known better than this, in units of the vectors' length."""
_REFITS = 3
"""Coordinates are rescaled so often at most."""
_TORN = 0.45
"""A cluster whose largest deviation is so far beyond the noise edge is suspect."""
_OBLONG = (2.5, 7.0)
"""One that is so many deviations from round is stretched, and suspect."""
_APART = (
    "its clients spread to some sides far more than noise: clusters that are not told apart, "
    "or Byzantine clients beside honest ones"
)
_COPIES = (
    "it and others are as near each other as the clients of one cluster: each may be copies of one"
)
_HARDLY = "it is hardly apart from cluster {}: they may be one"
_MOST_ROOM = 4.0
"""A client may be noisier by so much at most for having few examples."""


@of_finite_points
def density(
    vectors: Array,
    *,
    examples: Labels | None = None,
    k: Annotated[int, Ge(1)] | None = None,
    smallest: Annotated[int, Ge(2)] | None = None,
    sample: Annotated[int, Ge(100)] = 5000,
    constants: Constants = DEFAULTS,
) -> Clustering:
    """All clusters, the largest first; with `k` only the k largest, the clients of others trimmed.

    `examples` are the numbers of examples that clients report: with few, a client may have more
    noise. `smallest` is the least number of clients of a cluster, by default 4. Of more clients
    than `sample` so many are looked at for clusters, drawn at random. Where there is no group at
    all, everyone is in one cluster around the coordinate-wise median.
    """
    smallest = smallest or constants.smallest
    room = _room(examples, len(vectors))
    units = first_units(vectors, constants)
    middle, fit, rows, known = find_clusters(vectors / units, smallest, room, constants, sample)
    for _ in range(_REFITS):
        if not fit.k:
            return _one_cluster(vectors, smallest)
        finer = units_within(vectors[rows] / units, fit.members, fit.centres, constants)
        if finer is None:
            break
        units = units * finer
        middle, fit, rows, known = find_clusters(vectors / units, smallest, room, constants, sample)
    if not fit.k:
        return _one_cluster(vectors, smallest)
    doubts = doubts_about(known, fit)
    return _clustering(vectors / units, units, fit, doubts, middle, rows, k, smallest)


def _room(examples: Labels | None, m: int) -> Array:
    """By how much each client may be noisier than most, for having fewer examples."""
    if examples is None or not (examples > 0).all():
        return np.ones(m)
    room: Array = np.clip(np.sqrt(np.median(examples) / examples), 1, _MOST_ROOM)
    return room


def find_clusters(
    vectors: Array, smallest: int, room: Array, constants: Constants, sample: int
) -> tuple[Array, Fit, Labels, Known]:
    """The middle of all vectors, the clusters around it, of which vectors these are made, and how.

    Without copies, and those that are far away. Centres are measured from the middle.
    """
    middle = coordinate_medians(vectors)
    centred = vectors - middle
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    rows = np.flatnonzero(lengths <= _FAR * np.median(lengths))
    near = centred if len(rows) == len(centred) else centred[rows]
    drawn = some_of(len(rows), sample)
    kept, known, fit = _found(near[drawn], room[rows][drawn], smallest, constants)
    if len(drawn) < len(rows):
        kept, known, fit = for_all(near, room[rows], drawn, kept, known, fit)
    return middle, fit, rows[kept], known


def _found(
    centred: Array, room: Array, smallest: int, constants: Constants
) -> tuple[Labels, Known, Fit]:
    """The rows without copies, what is known of them, and their clusters."""
    rows = np.arange(len(centred))
    known, modes, copies = _begin(centred, room, smallest, constants)
    if copies.any():
        rows = rows[~copies]
        known, modes, _ = _begin(centred[rows], room[rows], smallest, constants)
    fit = refine(known, settle(known, modes, known.typical))
    copies = surrounding(known, fit)
    if copies.any():
        rows = rows[~copies]
        known, modes, _ = _begin(centred[rows], room[rows], smallest, constants)
        fit = refine(known, settle(known, modes, known.typical))
    return rows, known, fit


def _begin(
    centred: Array, room: Array, smallest: int, constants: Constants
) -> tuple[Known, Labels, Mask]:
    """What is known of the vectors, their modes, and who is a superfluous copy."""
    m, d = centred.shape
    squares = np.einsum("ij,ij->i", centred, centred)
    squared = np.maximum(squares + squares[:, None] - 2 * centred @ centred.T, 0)
    q = min(NEIGHBOUR, m - 1)
    nearest = np.argpartition(squared, q, axis=1)[:, : q + 1]
    farthest = np.take_along_axis(squared, nearest, axis=1).max(axis=1)
    spreads = np.sqrt(farthest / (2 * d))
    basis, strong = signal_directions(centred, spreads, constants)
    points, outside = split_lengths(centred, basis)
    p = len(basis)
    rounding = _ROUNDING * float(np.sqrt(np.median(squares)))
    noise = noise_outside(outside, d - p, float(np.median(spreads)), constants)
    copies = np.zeros(m, dtype=bool)
    if noise.typical > rounding:  # without any noise, honest clients send the same
        copies = superfluous(squared, noise.scales, noise.typical, d, constants)
    modes, inflation = np.zeros(m, dtype=np.int64), 1.0
    if p and not copies.any():
        own = np.einsum("ij,ij->i", points, points)
        flat = np.maximum(own + own[:, None] - 2 * points @ points.T, 0)
        variances = noise.scales**2
        pairs = variances[:, None] + variances[nearest]
        near = np.take_along_axis(flat, nearest, axis=1) / np.maximum(pairs, 1e-300)
        inflation = max(float(np.quantile(near, 0.25) / chdtri(p, 0.75)), 1.0)
        scales = np.maximum(np.sqrt(inflation) * noise.scales, rounding)
        # The far noisier have neighbours everywhere, and would join clusters to each other.
        quiet = np.flatnonzero(noise.scales <= noise.limit)
        found = np.full(m, OUTSIDE)
        among = flat[np.ix_(quiet, quiet)]
        found[quiet] = find_modes(points[quiet], among, scales[quiet], smallest)
        modes = found if found.max() >= 0 else modes
    known = Known(
        centred, points[:, :strong], basis[:strong], spreads, noise.typical, inflation, room,
        smallest, constants,
    )  # fmt: skip
    return known, modes, copies


def _clustering(
    points: Array,
    units: Array,
    fit: Fit,
    doubts: Doubts,
    middle: Array,
    rows: Labels,
    k: int | None,
    smallest: int,
) -> Clustering:
    """The k largest clusters of all vectors, those left out as well; points are in these units."""
    m = len(points)
    # Among equals the tightest, so that no order of rows matters.
    largest = np.lexsort((fit.centres.sum(axis=1), -fit.sizes))[:k]
    number = range(len(largest))
    rank = np.full(fit.k + 1, OUTSIDE)
    rank[largest] = number
    members = np.full(m, OUTSIDE)
    members[rows] = rank[fit.members]
    centres = fit.centres[largest] + middle
    labels = members.copy()
    left = np.flatnonzero(members == OUTSIDE)
    if len(left):
        labels[left] = cdist(points[left], centres).argmin(axis=1)
    scales = np.full(m, np.inf)
    scales[rows] = fit.noise.scales
    inside = [np.flatnonzero(members == c) for c in number]
    residuals = [points[own] - centres[c] for c, own in enumerate(inside)]
    stretch = _beyond_others(
        [stretch_of(each, scales[own]) for each, own in zip(residuals, inside, strict=True)], 1.0
    )
    uneven = _beyond_others([oblong(each) for each in residuals], 0.0)
    uneven /= [by_chance(len(own)) for own in inside]
    # One cluster alone may be what its inputs make it.
    torn = (stretch > _TORN) | ((uneven > _OBLONG[1]) & (len(largest) > 1))
    twins = rank[doubts.twins[largest]]
    between, loose = np.zeros((m, len(largest)), dtype=bool), np.full(m, OUTSIDE)
    between[rows] = doubts.between[:, largest]
    loose[rows] = doubts.loose
    return Clustering(
        labels=labels,
        centres=centres * units,
        trimmed=members == OUTSIDE,
        radius=np.array([np.linalg.norm(each * units, axis=1).max() for each in residuals]),
        history=labels[None],
        iterations=0,
        stopped=f"{len(largest)} clusters of at least {smallest} clients",
        scale=fit.noise.typical * float(np.sqrt(np.mean(units**2))),
        suspect=tuple(
            _APART if far else _COPIES if copied else _HARDLY.format(twin) if twin >= 0 else None
            for far, copied, twin in zip(
                torn, doubts.satellites[largest], twins.tolist(), strict=True
            )
        ),
        noise=OwnNoise(scales, fit.noise.typical, fit.noise.limit, fit.inflation, units),
        stretched=tuple(((stretch > 0) | (uneven > _OBLONG[0])).tolist()),
        between=between,
        loose=loose,
    )


def _beyond_others(values: list[float], least: float) -> Array:
    """How far each is above the others' median, or above the least that noise explains."""
    usual = [np.median([*values[:c], *values[c + 1 :]] or [least]) for c in range(len(values))]
    return np.array(values) - np.maximum(usual, least)


def _one_cluster(vectors: Array, smallest: int) -> Clustering:
    """Nothing was found: a model for everyone, and a warning."""
    everyone = np.zeros(len(vectors), dtype=np.int64)
    return Clustering(
        labels=everyone,
        centres=np.median(vectors, axis=0)[None],
        trimmed=np.zeros(len(vectors), dtype=bool),
        radius=np.array([np.inf]),
        history=everyone[None],
        iterations=0,
        stopped=f"no group of at least {smallest} clients",
        suspect=(f"no group of at least {smallest} clients was found",),
    )
