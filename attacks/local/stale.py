"""Stale: the client replays an update of an earlier round.

What it sends was honest once, so nothing about it is strange but its age. It harms only while the
model moves.
"""

from typing import Annotated

from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView


class Stale(LocalAttack):
    """Local: keeps its own honest updates."""

    def __init__(self, *, delay: Annotated[int, Ge(1)] = 5) -> None:
        self.remembers = delay

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The update of `delay` replies ago, or the oldest there is."""
        return view.past[0] if view.past else honest
