"""Lazy: the client computes nothing and sends back what it received.

As the result of local steps that is a model without progress. As a gradient it is one that shrinks
the model: with a share a of lazy clients, the mean leads to (1 - a) w*. As a local model it is the
initial one.
"""

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.threat_model import ThreatModel


class Lazy(LocalAttack):
    """Local: needs no data."""

    threat = ThreatModel("the received model", "its updates")

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The received model."""
        return view.model
