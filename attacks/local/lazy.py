"""Lazy: the client computes nothing and sends back what it received.

As the result of local steps that is a model without progress. As a gradient it is one that shrinks
the model: with a share a of lazy clients, the mean leads to (1 - a) w*. In the first round, in
which nothing was received, it is zero.
"""

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.threat_model import ThreatModel


class Lazy(LocalAttack):
    """Local: needs no data."""

    threat = ThreatModel("the received model", "its updates")

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The received model."""
        return np.zeros_like(honest) if view.model is None else view.model
