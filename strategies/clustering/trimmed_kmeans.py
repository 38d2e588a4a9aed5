"""Trimmed K-means, Algorithm 2 of the paper and the default stage II.

Per cluster: the geometric median, then the mean of the members within a ball of radius
C sigma sqrt(d) around it. The median finds the honest bulk, the ball removes what is far from it,
and the mean of the rest is as accurate as a mean can be.

sigma is the standard deviation of the *vectors* around their centre, not of the noise in the
clients' data: with the latter the ball holds everything and this is plain K-means. It is estimated
from the vectors when not given.

With radius "auto" nothing is assumed of the noise: a first fit with C = 2 shows how far its members
lie from their centres, and the final fit starts there with the ball that follows from it
(`ball_radius`).
"""

from math import sqrt
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.ball_radius import common_radius
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.lloyd import CentreRule, Centres, lloyd
from tagma.strategies.clustering.weighted_centres import Points
from tagma.strategies.numerics.byzantine_count import Fraction
from tagma.strategies.numerics.noise_scale import estimate_scale
from tagma.strategies.numerics.weiszfeld import geometric_medians

_ROUGH = 2.0
"""C of the first fit, where it is not given."""


@of_finite_points
def trimmed_kmeans(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
    radius: Annotated[float, Gt(0)] | Literal["auto"],
    sigma: Annotated[float, Gt(0)] | None = None,
) -> Clustering:
    """`radius` is C; an empty ball leaves the geometric median as the centre."""
    if sigma is None:
        sigma = estimate_scale(vectors, k=k, fraction=fraction)
    if radius == "auto":
        rough = trimmed_kmeans(
            vectors, initial,
            k=k, iterations=iterations, fraction=fraction, radius=_ROUGH,
            sigma=sigma,
        )  # fmt: skip
        initial, ball = rough.labels[None], common_radius(vectors, rough)
    else:
        ball = radius * sigma * sqrt(vectors.shape[1])
    return lloyd(
        vectors, initial, _ball_means(ball),
        k=k, iterations=iterations, fraction=fraction, radius=ball, scale=sigma,
    )  # fmt: skip


def _ball_means(radius: float) -> CentreRule:
    def rule(points: Points, members: Mask) -> Centres:
        medians = geometric_medians(points, members).weights
        squared = points.squared_distances(medians, points.products(medians))
        within = squared <= radius**2
        inside = members & within
        count = inside.sum(axis=1, keepdims=True)
        return Centres(np.where(count > 0, inside / np.maximum(count, 1), medians), within)

    return rule
