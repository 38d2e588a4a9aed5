"""From rough groups to clusters, by what each client's own noise allows: Lloyd's algorithm.

The centre is the mean of the members, those with much noise counting less. The differences of the
centres span the signal subspace P, in which every client goes to its nearest centre, and is a
member if the distance is what its own noise explains; outside P its noise is measured (`noise`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.clustering import OwnNoise
from tagma.strategies.clustering.density.constants import DEFAULTS, Constants
from tagma.strategies.clustering.density.noise import (
    Noise,
    enough,
    median_of_chi_square,
    noise_outside,
    reach,
    shrunk,
)

OUTSIDE = -1
"""The label of a vector that is no member."""
_LIMIT = 30
"""Iterations; a fixed point is usually reached within five."""
_INDEPENDENT = 1e-6
"""A direction with a smaller part of the largest difference of centres is rounding."""
_ROUNDING = 1e-24
"""Squared distances are not known better than this, in units of those of the centres."""
_INFLATED = 4.0
"""The variance in P may exceed that outside by so much, or twice what near neighbours show."""
_FULL = 1.5
"""Clients with up to so many times the median noise count alike."""


@dataclass(frozen=True)
class Fit:
    """K clusters, and the noise of every client."""

    members: Labels
    """The cluster of every member, or -1; shape (m,)."""
    centres: Array
    """The mean of every cluster's members, shape (K, d)."""
    sizes: Labels
    """Members of every cluster, shape (K,)."""
    noise: Noise
    inflation: float
    """The variance in P over that outside."""

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.centres)


def polish(
    vectors: Array,
    members: Labels,
    typical: float,
    inflation: float,
    room: Array,
    constants: Constants,
    limit: int = _LIMIT,
) -> Fit:
    """The fixed point from these rough groups, or where `limit` steps lead. Cost O(m K d) for each.

    A group that loses its last member is gone. `typical` is a first guess of the noise, for few
    dimensions, `inflation` one of the variance in P over that outside; `room` by how much a client
    may be noisier for having few examples, shape (m,).
    """
    members, weights = renumber(members), np.ones(len(vectors))
    most = max(_INFLATED, 2 * inflation)
    for _ in range(limit):
        fit = _step(vectors, members, typical, weights, most, room, constants)
        if not fit.k or np.array_equal(fit.members, members):
            break
        typical, weights = fit.noise.typical, weights_by(fit.noise.scales, fit.noise.typical)
        members = renumber(fit.members)
    return fit


def weights_by(scales: Array, typical: float) -> Array:
    """How much a client counts at most, by its noise."""
    weights: Array = np.minimum(1, (_FULL * typical / np.maximum(scales, 1e-300)) ** 2)
    return weights if typical else np.ones(len(scales))


def _step(
    vectors: Array,
    members: Labels,
    typical: float,
    weights: Array,
    most_inflated: float,
    room: Array,
    constants: Constants,
) -> Fit:
    """Centres and noise of these members, and who is a member by them."""
    m, d = vectors.shape
    k = int(members.max(initial=OUTSIDE)) + 1
    kept = np.flatnonzero(members >= 0)
    own = members[kept]
    sizes = np.bincount(own, minlength=k)
    if not k:
        noise = noise_outside(np.zeros(m), 0, typical, constants)
        return Fit(members, np.zeros((0, d)), sizes, noise, 1.0)
    shares = np.zeros((k, m))
    shares[own, kept] = weights[kept]
    shares /= shares.sum(axis=1, keepdims=True)
    centres = shares @ vectors
    mid = centres.mean(axis=0)
    basis = span(centres - mid)
    p = len(basis)
    inside, squares = split_lengths(vectors - mid, basis)
    apart = cdist(inside, (centres - mid) @ basis.T, "sqeuclidean")
    nearest = apart.argmin(axis=1)
    # From a mean of which it is part a client is nearer, by 1 / M of its variance.
    unbiased = sizes[own] / np.maximum(sizes[own] - 1, 1)
    if not enough(d - p):
        whole = (squares[kept] + apart[kept, own]) * unbiased
        typical = float(np.sqrt(np.median(whole) / median_of_chi_square(d)))
    noise = noise_outside(squares, d - p, typical, constants, kept)
    variances = np.maximum(noise.scales**2, np.finfo(np.float64).tiny)
    inflation = 1.0
    if p:
        relative = np.median(apart[kept, own] * unbiased / variances[kept])
        inflation = float(np.clip(relative / median_of_chi_square(p), 1, most_inflated))
    rounding = _ROUNDING * float(np.einsum("ij,ij->i", centres, centres).max())
    allowed = inflation * reach(p, d - p, constants) * variances + rounding
    most = np.minimum(noise.limit * room, constants.noisiest * noise.typical)
    quiet = noise.scales**2 <= np.maximum(most, noise.limit) ** 2 + rounding
    fits = (apart[np.arange(m), nearest] <= allowed) & quiet
    return Fit(np.where(fits, nearest, OUTSIDE), centres, sizes, noise, inflation)


def explained(vectors: Array, fit: Fit, constants: Constants) -> tuple[Array, float]:
    """Squared distances from the centres in the directions that these span, (m, K), and the most.

    In units of what each client's noise explains.
    """
    mid = fit.centres.mean(axis=0)
    basis = span(fit.centres - mid)
    p, d = basis.shape
    squared = cdist((vectors - mid) @ basis.T, (fit.centres - mid) @ basis.T, "sqeuclidean")
    variances = np.maximum(fit.noise.scales**2, np.finfo(np.float64).tiny)
    return squared / (fit.inflation * variances[:, None]), reach(p, d - p, constants)


def split_lengths(rows: Array, basis: Array) -> tuple[Array, Array]:
    """The rows in this orthonormal basis, and their squared lengths outside of what it spans."""
    inside = rows @ basis.T
    outside = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", inside, inside)
    return inside, np.maximum(outside, 0)


def span(rows: Array) -> Array:
    """An orthonormal basis of what these rows span, shape (p, d)."""
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    basis: Array = directions[values > _INDEPENDENT * values[0]] if values[0] else directions[:0]
    return basis


def renumber(members: Labels, dissolved: Labels | None = None) -> Labels:
    """Labels 0, 1, ... without gaps; clusters in `dissolved` are no more."""
    if dissolved is not None:
        members = np.where(np.isin(members, dissolved), OUTSIDE, members)
    numbers = np.unique(members[members >= 0])
    return np.where(members >= 0, np.searchsorted(numbers, members), OUTSIDE)


def newcomer(
    vector: Array, centres: Array, known: OwnNoise, constants: Constants = DEFAULTS
) -> tuple[int, float, float]:
    """For one more vector: the nearest cluster, how far it is, and how much the vector may count.

    The distance is in units of what its noise allows, as for members; the noise must be allowed,
    too.
    """
    d = len(vector)
    places = centres / known.units
    mid = places.mean(axis=0)
    basis = span(places - mid)
    p = len(basis)
    inside, squares = split_lengths((vector / known.units - mid)[None], basis)
    own = shrunk(squares, d - p, known.typical, constants)
    apart = cdist(inside, (places - mid) @ basis.T, "sqeuclidean")[0]
    nearest = int(apart.argmin())
    tiny = np.finfo(np.float64).tiny
    allowed = known.inflation * reach(p, d - p, constants) * float(own[0]) ** 2
    away = float(np.sqrt(apart[nearest] / max(allowed, tiny))) if p else 0.0
    noisy = float(own[0]) / max(known.limit, tiny) if own[0] else 0.0
    return nearest, max(away, noisy), float(weights_by(own, known.typical)[0])
