"""Sign flip: send the opposite of the honest update.

Where updates are models after local steps, it is their progress that is reversed.
"""

from typing import Annotated

from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView


class SignFlip(LocalAttack):
    """Local: needs nothing but the client's own honest update."""

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 1.0) -> None:
        self.scale = scale

    def forge(self, honest: Array, view: LocalView) -> Array:
        """-scale times the honest update."""
        return view.origin - self.scale * (honest - view.origin)
