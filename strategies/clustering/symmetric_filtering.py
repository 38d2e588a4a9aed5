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

from dataclasses import dataclass

import numpy as np

from strategies.aggregation.aggregate import Aggregator
from tagma.arrays import Array, Labels


@dataclass(frozen=True)
class SymmetricClusters:
    """The two clusters around theta and -theta."""

    theta: Array
    """Shape (d,)."""
    labels: Labels
    """+1 or -1 for every point, by its nearest of +-theta, shape (m,)."""
    history: Array
    """The start and the estimate of every iteration, shape (iterations + 1, d)."""
    iterations: int


def symmetric_iterative_filtering(
    points: Array, start: Array, *, iterations: int, estimate: Aggregator
) -> SymmetricClusters:
    """`estimate` is the robust mean, for example `iterative_filtering`; `mean` is the baseline.

    Where m is not a multiple of T, parts differ by one point. Cost: T estimates of m / T rows.
    """
    if not 1 <= iterations <= len(points):
        raise ValueError(f"iterations={iterations}: must be from 1 to the number of points")
    history = [start]
    for part in np.array_split(points, iterations):
        signs = _signs(part, history[-1])
        history.append(estimate(part * signs[:, None]).estimate)
    theta = history[-1]
    return SymmetricClusters(theta, _signs(points, theta), np.stack(history), iterations)


def _signs(points: Array, theta: Array) -> Labels:
    return np.where(points @ theta < 0, -1, 1)
