"""Algorithm 3 of the paper in its own form: two symmetric clusters, fresh points every iteration.

Model: y = nu (theta* + tau) with an unknown sign nu = +-1 and sub-Gaussian tau, for a share
1 - alpha of the points; the others are arbitrary. Iteration t uses the t-th of T consecutive parts
of the points:

    nu_i    = argmin over +-1 of ||nu y_i - theta||^2 = sign <y_i, theta>
    theta   = robust mean of the nu_i y_i

With the spectral filter as the robust mean, a start within ||theta*|| / 2 of theta*, alpha <= 1/16
and a large enough ||theta*|| over the noise, the error is O(sqrt(alpha)), whatever the dimension
(the paper's theorem on high dimension). Fresh points make every iteration's labels independent of
its noise; they also mean that the estimate is one from m / T points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.numerics.byzantine_count import Fraction
from tagma.strategies.numerics.noise_scale import estimate_scale
from tagma.strategies.numerics.spectral_filter import spectral_filter


@dataclass(frozen=True)
class SymmetricClusters:
    """The two clusters around theta and -theta."""

    theta: Array
    """Shape (d,)."""
    labels: Labels
    """+1 or -1 for every point, by its nearest of +-theta, shape (m,)."""
    history: Array
    """The start and the estimate of every iteration, shape (iterations + 1, d)."""
    trimmed: Mask
    """Points that the estimate of their own part left out, shape (m,)."""
    iterations: int
    stopped: str
    """Why the last estimate ended; it always takes as many iterations as there are parts."""


def symmetric_iterative_filtering(
    points: Array, start: Array, *, iterations: int, estimate: Callable[[Array], Aggregate]
) -> SymmetricClusters:
    """`estimate` is the robust mean, for example `iterative_filtering`; `mean` is the baseline.

    Where m is not a multiple of T, parts differ by one point. Cost: T estimates of m / T rows.
    """
    if not 1 <= iterations <= len(points):
        raise ValueError(f"iterations={iterations}: must be from 1 to the number of points")
    history, found = [start], []
    for part in np.array_split(points, iterations):
        found.append(estimate(part * _signs(part, history[-1])[:, None]))
        history.append(found[-1].estimate)
    theta = history[-1]
    sizes = [len(part) for part in np.array_split(points, iterations)]
    return SymmetricClusters(
        theta=theta,
        labels=_signs(points, theta),
        history=np.stack(history),
        trimmed=np.concatenate([_left_out(*pair) for pair in zip(found, sizes, strict=True)]),
        iterations=iterations,
        stopped=f"all {iterations} parts used; the last estimate: {found[-1].stopped or 'done'}",
    )


@of_finite_points
def symmetric_filtering(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(2), Le(2)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
    sigma: Annotated[float, Gt(0)] | None = None,
) -> Clustering:
    """The same with the interface of the other clusterings: the centres are theta and -theta.

    Of the initial labelings, that with the least trimmed cost in the end wins; each starts at the
    coordinate-wise median of its signed points. Every labeling uses the same parts, one for each
    iteration, fewer iterations if there are fewer points. Breakdown point min(removable, 1/2).
    """
    scale = sigma or estimate_scale(vectors, k=2, fraction=fraction)

    def estimate(rows: Array) -> Aggregate:
        found = spectral_filter(rows, sigma=scale, factor=factor, removable=removable)
        return Aggregate(
            found.estimate, kept=found.kept, iterations=found.iterations, stopped=found.stopped
        )

    iterations = min(iterations, len(vectors))
    tries = [
        symmetric_iterative_filtering(
            vectors,
            np.median(vectors * _sign_of(labels)[:, None], axis=0),
            iterations=iterations,
            estimate=estimate,
        )
        for labels in initial
    ]
    kept = max(1, round((1 - fraction) * len(vectors)))
    costs = [np.sort(_squared(vectors, one.theta).min(axis=0))[:kept].sum() for one in tries]
    winner = int(np.argmin(costs))
    best = tries[winner]
    centres = np.stack([best.history, -best.history], axis=1)
    history = np.stack([_squared(vectors, theta).argmin(axis=0) for theta in best.history[1:]])
    return Clustering(
        labels=history[-1],
        centres=centres[-1],
        trimmed=best.trimmed,
        radius=np.full(2, np.inf),
        history=np.vstack([initial[winner][None], history]),
        iterations=iterations,
        stopped=best.stopped,
        scale=scale,
    )


def _squared(vectors: Array, theta: Array) -> Array:
    """Squared distances to theta and -theta, shape (2, m)."""
    return np.stack([((vectors - centre) ** 2).sum(axis=1) for centre in (theta, -theta)])


def _sign_of(labels: Labels) -> Labels:
    return 1 - 2 * labels


def _left_out(found: Aggregate, rows: int) -> Mask:
    return np.zeros(rows, dtype=bool) if found.kept is None else ~found.kept


def _signs(points: Array, theta: Array) -> Labels:
    return np.where(points @ theta < 0, -1, 1)
