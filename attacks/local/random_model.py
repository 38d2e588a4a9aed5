"""Random model: noise instead of an update, drawn anew in every round."""

from typing import Annotated

from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.threat_model import ThreatModel


class RandomModel(LocalAttack):
    """Local: needs nothing."""

    threat = ThreatModel("nothing", "its updates")

    def __init__(self, *, deviation: Annotated[float, Gt(0)] = 10.0) -> None:
        self.deviation = deviation

    def forge(self, honest: Array, view: LocalView) -> Array:
        """N(0, deviation^2 I)."""
        return self.deviation * view.random.standard_normal(honest.shape)
