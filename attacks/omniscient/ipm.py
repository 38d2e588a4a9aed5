"""Inner product manipulation (Xie, Koyejo, Gupta, 2019).

The Byzantine clients send minus a multiple of the mean of the honest updates, so that the average
of all points away from the descent direction. With scale 1 it is the sign flip of the mean. A share
a of Byzantine clients reverses the mean only with a scale above (1 - a) / a; below it they only
slow the descent down.
"""

from typing import Annotated

from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.per_cluster import ScaledAttack


class InnerProductManipulation(ScaledAttack):
    """Omniscient and colluding."""

    published = "Xie et al. 2019"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 5.0, optimise: bool = False) -> None:
        super().__init__(scale=scale, optimise=optimise)

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """-scale times the mean."""
        return -scale * honest.mean(axis=0)
