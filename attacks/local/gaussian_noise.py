"""Gaussian noise: the honest update plus noise."""

from typing import Annotated

from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView


class GaussianNoise(LocalAttack):
    """Local: needs nothing but the client's own honest update."""

    def __init__(self, *, deviation: Annotated[float, Gt(0)] = 10.0) -> None:
        self.deviation = deviation

    def forge(self, honest: Array, view: LocalView) -> Array:
        """Honest + N(0, deviation^2 I)."""
        return honest + self.deviation * view.random.standard_normal(honest.shape)
