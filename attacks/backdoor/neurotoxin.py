"""Neurotoxin (Zhang, Panda, Song, Yang, Mahoney, Mittal, Gonzalez, Ramchandran, 2022).

A backdoor fades where honest updates overwrite it. So it is put where they hardly move: of the
client's progress those coordinates are set to 0 in which the honest clients' update is largest, a
share `avoided` of all. That update is estimated by how the received model has changed since the
client was asked before; in its first round, where nothing is known, all of the progress is sent.
"""

from dataclasses import dataclass
from math import ceil
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt

from tagma.arrays import Array
from tagma.attacks.backdoor.badnets import BadNets
from tagma.attacks.base import LocalView
from tagma.attacks.threat_model import ThreatModel
from tagma.exchange import FIT


@dataclass(kw_only=True, eq=False)
class Neurotoxin(BadNets):
    """Local: changes the client's own data and updates, and remembers the received model."""

    threat = ThreatModel("its own updates", "its data and updates")
    published = "Zhang et al. 2022"
    remembers = 1

    avoided: Annotated[float, Gt(0), Lt(1)] = 0.05

    def note(self, honest: Array, sent: Array, view: LocalView) -> Array:
        """The received model."""
        return view.model

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The progress without the coordinates that others move most. O(d)."""
        if view.work == FIT or not view.past:
            return honest
        progress = honest - view.origin
        moved = np.abs(view.model - view.past[-1])
        kept = len(moved) - ceil(self.avoided * len(moved))
        progress[np.argpartition(moved, kept)[kept:]] = 0
        return view.origin + progress
