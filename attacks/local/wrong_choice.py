"""Wrong choice: the client claims another model than the one that fits it best.

Where clients choose among several models (IFCA), membership is their own word. Here the client says
that it went on with another model, and sends what the honest program makes of that one: it draws a
model of others towards what its own data want. With a scale below 0 it drives the model away from
that. Every such update is one that an honest client with such data would send.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.threat_model import ThreatModel
from tagma.exchange import CHOICE


class WrongChoice(LocalAttack):
    """Local: needs the models that the client received."""

    threat = ThreatModel("its own updates", "its replies")
    needs_choice = True

    def __init__(self, *, which: Literal["next", "farthest"] = "next", scale: float = 1.0) -> None:
        self.which = which
        self.scale = scale

    def report(self, honest: Mapping[str, float], view: LocalView) -> Mapping[str, float]:
        """The number of the model after the client's own, or of the one farthest from it."""
        if CHOICE not in honest:
            return honest
        own = int(honest[CHOICE])
        if self.which == "next":
            return {**honest, CHOICE: (own + 1) % len(view.models)}
        away = [float(np.linalg.norm(model - view.models[own])) for model in view.models]
        return {**honest, CHOICE: int(np.argmax(away))}

    def forge(self, honest: Array, view: LocalView) -> Array:
        """Scale times the honest update of the claimed model, or its progress."""
        return view.origin + self.scale * (honest - view.origin)
