"""Inflate: a multiple of the honest update, so that one client counts for many.

The scaling of model replacement (Bagdasaryan et al., 2020), without a backdoor. Where updates are
models after local steps, it is their progress that is multiplied.
"""

from typing import Annotated

from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView


class Inflate(LocalAttack):
    """Local: needs nothing but the client's own honest update."""

    published = "Bagdasaryan et al. 2020"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 10.0) -> None:
        self.scale = scale

    def forge(self, honest: Array, view: LocalView) -> Array:
        """Scale times the honest update."""
        return view.origin + self.scale * (honest - view.origin)
