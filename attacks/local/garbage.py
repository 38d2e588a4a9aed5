"""Garbage: replies that are no updates at all, to see that they are dropped and the run goes on."""

from typing import Literal

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.threat_model import ThreatModel

_HUGE = 1e300


class Garbage(LocalAttack):
    """Local: needs nothing."""

    threat = ThreatModel("nothing", "its replies")

    def __init__(
        self, *, kind: Literal["not_a_number", "infinite", "wrong_shape", "huge", "empty"]
    ) -> None:
        self.kind = kind

    def forge(self, honest: Array, view: LocalView) -> Array | None:
        """A vector of NaN, of infinities, one entry too long, of 1e300, or no record at all."""
        match self.kind:
            case "not_a_number":
                return np.full_like(honest, np.nan)
            case "infinite":
                return np.full_like(honest, np.inf)
            case "huge":
                return np.full(honest.shape, _HUGE)
            case "wrong_shape":
                return np.zeros(len(honest) + 1)
            case "empty":
                return None
