"""The attack on trimmed means with full knowledge (Fang, Cao, Jia, Gong, 2020).

In every coordinate the Byzantine clients send values just beyond the honest ones, on the side away
from where the honest mean points: above the largest, between max and b max (max / b where it is
negative), if the mean is negative; below the smallest likewise if it is positive. Their values are
trimmed, but each pushes an honest value of the other side out with it, so that the rest is biased.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.per_cluster import ScaledAttack


class TrimmedMeanAttack(ScaledAttack):
    """Omniscient and colluding."""

    published = "Fang et al. 2020"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 1.0, optimise: bool = False) -> None:
        super().__init__(scale=scale, optimise=optimise)

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """Uniform between the extreme and 1 + scale times or over it, whichever is farther out."""
        sign = np.where(honest.mean(axis=0) < 0, 1.0, -1.0)
        extreme = np.where(sign > 0, honest.max(axis=0), honest.min(axis=0))
        farther = extreme * (1 + scale) ** np.where(sign * extreme > 0, 1.0, -1.0)
        return extreme + view.random.random(own.shape) * (farther - extreme)
