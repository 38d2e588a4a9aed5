"""Geometric medians: argmin_y sum_i ||p_i - y||, for many subsets of the same points at once.

Weiszfeld's iteration y <- sum_i p_i/||p_i - y|| / sum_i 1/||p_i - y||, in the form of Vardi and
Zhang (2000) that stays correct when y meets a point: there the iteration is undefined, the pull R
of the other points is compared with the mass of the one that was hit, and y either is the
median or moves on along R. A median that is one of the points is approached ever more slowly; so,
now and then, the nearest point is asked whether it is the one, by the same comparison. What is left
at the iteration limit takes the steps of Newton's method, O(m^3) each. A point of mass w counts as
w points at its place.

Runs in weight space (see `Affine`), so that with a Gram matrix one iteration for B subsets costs
O(B m^2) at most, whatever d is. Breakdown point 1/2.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Mask
from tagma.strategies.numerics.affine_combinations import Affine, Some, unit_weights
from tagma.strategies.numerics.newton_geometric_median import descend

TOLERANCE = 1e-6
"""Enough for the centres of clusters."""

_NEWTON_MOST = 2000
"""More points would take Newton's method too long."""
_ASK = 10
"""Every so many iterations, the nearest point is asked whether it is the median."""


@dataclass(frozen=True)
class Medians:
    """Geometric medians of B subsets."""

    weights: Array
    """Shape (B, m): the medians as affine combinations of the points."""
    iterations: int
    stopped: str
    """Why it stopped: "converged" or "iteration limit"."""


def geometric_medians(
    points: Affine,
    members: Mask,
    start: Array | None = None,
    limit: int = 100,
    tolerance: float = TOLERANCE,
    newton: bool = True,
    masses: Array | None = None,
) -> Medians:
    """The medians of the subsets given by `members`, shape (B, m); none may be empty.

    `masses` are those of the points, positive, shape (m,); 1 where not given.

    `start` are weights to begin from. It stops when a median moves by less than `tolerance`, in
    units of its typical distance to the points. Without `newton`, what is left at the iteration
    limit is left.
    """
    weights = _first_step(points, members, masses) if start is None else start.copy()
    running = np.arange(len(members))
    current, inside = weights, members
    products = points.products(current)
    for iteration in range(limit):
        moved, scale = _step(points, inside, current, products, masses)
        moved_products = points.products(moved)
        moves = np.einsum("ij,ij->i", moved - current, moved_products - products)
        going = moves > (tolerance * scale) ** 2
        weights[running] = moved
        if not going.any():
            return Medians(weights, iteration + 1, "converged")
        current, products = moved, moved_products
        if not going.all():
            running, inside = running[going], inside[going]
            current, products = moved[going], moved_products[going]
        if iteration % _ASK == _ASK - 1:
            nearest, found = _nearest_points(points, inside, current, products, tolerance, masses)
            weights[running[found]] = nearest[found]
            if found.all():
                return Medians(weights, iteration + 1, "converged")
            running, inside = running[~found], inside[~found]
            current, products = current[~found], products[~found]
    if newton:
        few = inside.sum(axis=1) <= _NEWTON_MOST
        for place, own, among in zip(running[few], current[few], inside[few], strict=True):
            weights[place] = _nearer(points, own, among, masses)
    return Medians(weights, limit, "iteration limit")


def _nearer(points: Affine, weights: Array, members: Mask, masses: Array | None) -> Array:
    """Newton's method, where Weiszfeld's steps have become too short."""
    among = np.flatnonzero(members)
    nearer = np.zeros_like(weights)
    own = 1.0 if masses is None else masses[among]
    nearer[among] = descend(Some(points, among), weights[among] / weights[among].sum(), own)
    return nearer


def _first_step(points: Affine, members: Mask, masses: Array | None) -> Array:
    """One Weiszfeld step from the origin of the points, which is near their middle.

    Unlike the mean, it is not carried away by points at an astronomic distance.
    """
    lengths = np.sqrt(points.squares)
    pulls = members / np.maximum(lengths, 1e-3 * np.median(lengths) or 1.0)
    if masses is not None:
        pulls *= masses
    return pulls / pulls.sum(axis=1, keepdims=True)


def _step(
    points: Affine, members: Mask, weights: Array, products: Array, masses: Array | None
) -> tuple[Array, Array]:
    """One Weiszfeld step of every row, and the harmonic mean of its distances before the step."""
    squared = points.squared_distances(weights, products)
    apart = members & (squared > 0)
    pulls = _pulls(squared, apart, masses)
    total = pulls.sum(axis=1, keepdims=True)
    hit = members > apart
    if hit.any():
        target = np.divide(pulls, total, out=weights.copy(), where=total > 0)
        for row in np.flatnonzero(hit.any(axis=1)):
            mass = _mass(hit[row], masses)
            target[row] = _leave_hit_point(points, weights[row], target[row], pulls[row], mass)
    else:
        target = pulls / total
    scale = _mass(apart, masses) / np.maximum(total[:, 0], np.finfo(np.float64).tiny)
    return target, scale


def _pulls(squared: Array, apart: Mask, masses: Array | None) -> Array:
    """How hard each of the points that are `apart` pulls: its mass over its distance."""
    pulls = np.divide(1.0, np.sqrt(squared), out=np.zeros_like(squared), where=apart)
    if masses is not None:
        pulls *= masses
    return pulls


def _mass(members: Mask, masses: Array | None) -> Array:
    """Of all members, shape (...) for members (..., m)."""
    return members.sum(axis=-1) if masses is None else members @ masses


def _leave_hit_point(points: Affine, at: Array, target: Array, pulls: Array, mass: Array) -> Array:
    """Vardi and Zhang: y = (1 - g) T(y) + g y with g = min(1, mass of the hit point / ||R||)."""
    resultant = pulls - pulls.sum() * at
    strength = np.sqrt(max(resultant @ points.products(resultant), 0))
    if strength <= mass:
        return at
    stay = mass / strength
    return (1 - stay) * target + stay * at


def _nearest_points(
    points: Affine,
    members: Mask,
    weights: Array,
    products: Array,
    tolerance: float,
    masses: Array | None,
) -> tuple[Array, Mask]:
    """The member nearest to where each subset is, as weights, and where it is the median.

    It counts as the median also where the others pull harder than it holds by no more than a share
    of `tolerance`: the sum of distances is within that share of the least one, and Weiszfeld's
    steps would take very long to tell the difference.
    """
    squared = np.where(members, points.squared_distances(weights, products), np.inf)
    nearest = unit_weights(squared.argmin(axis=1), len(points))
    away = points.squared_distances(nearest)
    hit = members & (away <= 0)
    pulls = _pulls(away, members > hit, masses)
    resultants = pulls - pulls.sum(axis=1, keepdims=True) * nearest
    strength = np.einsum("ij,ij->i", resultants, points.products(resultants))
    return nearest, strength <= (_mass(hit, masses) * (1 + tolerance)) ** 2
