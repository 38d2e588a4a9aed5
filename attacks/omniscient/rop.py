"""ROP, relocated orthogonal perturbation (Ozfatura, Ozfatura, Kupcu, Gunduz, 2023).

Against centred clipping, which moves from the aggregate of the round before towards every update,
by a bounded length. The Byzantine clients' updates lie around that very aggregate, as far away as
honest ones, so that nothing of them is clipped, and to a side where no honest update pulls back:

    centre + scale r (cos(angle) a / ||a|| + sin(angle) p / ||p||),

r the median distance of the honest updates from the centre, a their mean's way from it, and p minus
the honest standard deviations without what of them is along a: orthogonal to a, and on the same
side in every round. With trained models the aggregate of the round before is the received model.
Nobody sees that of gradients: there the centre is 0, and a the honest mean.
"""

from math import cos, radians, sin
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.per_cluster import ScaledAttack


class OrthogonalPerturbation(ScaledAttack):
    """Omniscient and colluding."""

    published = "Ozfatura et al. 2023"

    def __init__(
        self,
        *,
        angle: Annotated[float, Gt(0), Le(180)] = 90.0,
        scale: Annotated[float, Gt(0)] = 1.0,
        optimise: bool = False,
    ) -> None:
        super().__init__(scale=scale, optimise=optimise)
        self.angle = angle

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """What is said above, of progress from the received model, or of gradients."""
        along = _unit(honest.mean(axis=0))
        side = -honest.std(axis=0)
        aside = _unit(side - (side @ along) * along)
        length = float(np.median(np.linalg.norm(honest, axis=1)))
        turn = radians(self.angle)
        return scale * length * (cos(turn) * along + sin(turn) * aside)


def _unit(vector: Array) -> Array:
    """Of length 1; zero stays zero."""
    length = np.linalg.norm(vector)
    return vector / length if length else vector
