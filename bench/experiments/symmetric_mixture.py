"""The paper's model for high dimension: two symmetric clusters under Huber contamination.

With probability 1 - alpha a point is y = nu (theta* + tau), nu = +-1 and tau ~ N(0, I); with
probability alpha it is an outlier. All outliers stretch the data in one direction, orthogonal to
theta*, and after the flip by their labels they all pull to the same side: the worst for a mean.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tagma.arrays import Array, Labels, Mask

Outliers = Literal["point", "cloud", "ray"]
"""All in one place; around it, with the same noise; or on the way there and as far again."""


@dataclass(frozen=True)
class SymmetricMixture:
    """m points and the truth about them."""

    points: Array
    """Shape (m, d)."""
    signs: Labels
    """The true label nu of every point, +1 or -1, shape (m,)."""
    outlier: Mask
    """Shape (m,)."""
    theta: Array
    """The centre of one cluster, shape (d,); that of the other is its negative."""

    def misclustered(self, labels: Labels) -> float:
        """The share of inliers whose label is wrong, up to a swap of the two clusters."""
        wrong = float((labels != self.signs)[~self.outlier].mean())
        return min(wrong, 1 - wrong)


def draw_mixture(
    source: np.random.Generator,
    *,
    points: int,
    dim: int,
    signal: float,
    alpha: float,
    outliers: Outliers,
    distance: float,
) -> SymmetricMixture:
    """`signal` is ||theta*|| and `distance` that of the outliers' mean from theta*, per noise."""
    theta = _unit(source.standard_normal(dim)) * signal
    away = source.standard_normal(dim)
    away = _unit(away - (away @ theta) / (theta @ theta) * theta)
    outlier = source.random(points) < alpha
    signs = source.choice(np.array([-1, 1]), size=points)
    rows = theta + source.standard_normal((points, dim))
    if outliers == "point":
        rows[outlier] = theta
    steps = source.uniform(0, 2, size=(points, 1)) if outliers == "ray" else np.ones((points, 1))
    rows[outlier] += steps[outlier] * distance * away
    return SymmetricMixture(rows * signs[:, None], signs, outlier, theta)


def start_near(theta: Array, source: np.random.Generator) -> Array:
    """A start at the distance ||theta*|| / 2 that the theorem allows, in a random direction."""
    return theta + np.linalg.norm(theta) / 2 * _unit(source.standard_normal(len(theta)))


def _unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)
