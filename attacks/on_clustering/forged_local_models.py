"""Attacks on stage II: false local models decide who is clustered with whom.

What they do afterwards is another attack, the setting `later` of each of these: see
`tagma.attacks.schedule`. Without it they are honest then.
"""

from abc import abstractmethod

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.on_clustering.honest_groups import Landscape, landscape_of


class ClusteringAttack(OmniscientAttack):
    """Forges local models only."""

    source = "Tagma"
    needs_local_models = True

    @abstractmethod
    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """The local models that `count` Byzantine clients send, shape (count, d)."""

    def forge(self, view: FederationView) -> Array:
        """False local models in the first round, honest updates later."""
        if view.work != "local_model":
            return view.own
        return self.place(landscape_of(view), len(view.own), view.random)
