"""Mimic (Karimireddy, He, Jaggi, 2022): all Byzantine clients repeat one honest client.

Its view counts many times over, and the others' are lost; since what the Byzantine clients send is
honest, no test of single updates finds them. The client they repeat is the one farthest out in the
direction in which the honest updates of the round differ most; the paper finds the direction in a
few rounds and keeps the client from then on. `which` keeps one from the start: the one of this
number among the honest clients of the cluster that answered, counted round.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.omniscient.per_cluster import by_cluster


class Mimic(OmniscientAttack):
    """Omniscient and colluding."""

    published = "Karimireddy et al. 2022"

    def __init__(self, *, which: Annotated[int, Ge(0)] | None = None) -> None:
        self.which = which

    def forge(self, view: FederationView) -> Array:
        """The update of one honest client of each cluster."""
        return by_cluster(view, lambda honest, own: honest[self._chosen(honest)])

    def _chosen(self, honest: Array) -> int:
        if self.which is not None:
            return self.which % len(honest)
        centred = honest - honest.mean(axis=0)
        sides, lengths, _ = np.linalg.svd(centred, full_matrices=False)
        extent = np.abs(sides[:, 0] * lengths[0])
        # Two alone are equally far out; rounding must not choose between them.
        return int(np.flatnonzero(extent >= extent.max() * (1 - 1e-9))[0])
