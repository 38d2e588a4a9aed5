"""Inner product manipulation (Xie, Koyejo, Gupta, 2019).

The liars send minus a multiple of the mean of the honest updates, so that the average of all points
away from the descent direction. With one model per cluster, a liar answers for the cluster whose
model it received: it opposes the honest machines that received the same one.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from attacks.attack import FederationView, OmniscientAttack
from tagma.arrays import Array


class InnerProductManipulation(OmniscientAttack):
    """Omniscient and colluding: needs all honest updates of the round."""

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 1.0) -> None:
        self.scale = scale

    def forge(self, view: FederationView) -> Array:
        """-scale times the mean honest update of each liar's cluster."""
        return np.array([-self.scale * self._opposed(view, row) for row in range(len(view.own))])

    def _opposed(self, view: FederationView, row: int) -> Array:
        if view.own_models is None or view.honest_models is None:
            return view.honest.mean(axis=0)
        same = (view.honest_models == view.own_models[row]).all(axis=1)
        return view.honest[same].mean(axis=0) if same.any() else view.own[row]
