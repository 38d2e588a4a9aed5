"""What min-max and min-sum share (Shejwalkar, Houmansadr, 2021).

The Byzantine clients send mean + gamma p: away from the honest mean in a direction p, as far as a
test of distances between updates lets them.
"""

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt
from scipy.spatial.distance import cdist

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.per_cluster import ScaledAttack

Direction = Literal["deviation", "sign", "unit"]


class HiddenShift(ScaledAttack):
    """Omniscient and colluding."""

    published = "Shejwalkar & Houmansadr 2021"

    def __init__(
        self,
        *,
        direction: Direction = "deviation",
        scale: Annotated[float, Gt(0)] = 1.0,
        optimise: bool = False,
    ) -> None:
        super().__init__(scale=scale, optimise=optimise)
        self.direction = direction

    @abstractmethod
    def largest_shift(self, honest: Array, direction: Array) -> float:
        """The largest gamma that passes; the direction is not zero."""

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """Mean + scale * gamma * p."""
        p = direction_of(honest, self.direction)
        gamma = self.largest_shift(honest, p) if p.any() else 0.0
        return honest.mean(axis=0) + scale * gamma * p


def direction_of(honest: Array, name: Direction) -> Array:
    """Minus: the standard deviation of every coordinate, the sign of the mean, or its unit vector.

    The zero vector where all honest updates agree, or their mean is zero.
    """
    mean = honest.mean(axis=0)
    if name == "deviation":
        return -honest.std(axis=0)
    if name == "sign":
        return -np.sign(mean)
    length = np.linalg.norm(mean)
    return -mean / length if length else -mean


def squared_distances(vectors: Array) -> Array:
    """Between all pairs of rows, shape (h, h). Cost O(h^2 d)."""
    return cdist(vectors, vectors, "sqeuclidean")
