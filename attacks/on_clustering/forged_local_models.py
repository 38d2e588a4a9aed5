"""Attacks on stage II: false local models decide who is clustered with whom.

What they do afterwards is another attack, the setting `later` of each of these: see
`tagma.attacks.schedule`. Without it they are honest then.
"""

from abc import abstractmethod

import numpy as np

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.on_clustering.honest_groups import Landscape, landscape_of
from tagma.attacks.searching_attack import SearchingAttack
from tagma.exchange import FIT


class ClusteringAttack(SearchingAttack):
    """Forges local models only."""

    published = "Tagma"
    needs_local_models = True

    @abstractmethod
    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """The local models that `count` Byzantine clients send, shape (count, d)."""

    def searches(self, view: FederationView) -> bool:
        """In the first round only."""
        return view.work == FIT

    def sent(self, view: FederationView) -> Array:
        """False local models in the first round, honest updates later."""
        if view.work != FIT:
            return view.own
        return self.place(landscape_of(view), len(view.own), view.random)
