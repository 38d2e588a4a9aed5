"""Attacks of the literature, which know one global model, against one model per cluster.

Byzantine clients that act on the same model conspire against the honest clients that do: those who
received it or, where local models are asked for and all begin with the same one, or everybody has a
model of its own, those of the group whose data they were given.
"""

from abc import abstractmethod
from collections.abc import Callable

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.line_search import strongest


def by_cluster(view: FederationView, against: Callable[[Array, Array], Array]) -> Array:
    """What all Byzantine clients send, (b, d), if those of one cluster send against(honest, own).

    The function gets the honest updates of the cluster, never none, and the Byzantine clients' own,
    and returns a vector for all of them or one for each. Where updates are models after local
    steps, it gets and returns their progress from the received model. Byzantine clients among
    themselves, who have nobody to harm, send their own updates.
    """
    forged = view.own.copy()
    for byzantine, peers in view.clusters():
        if len(peers):
            origin = view.origin(byzantine)
            sent = against(view.honest[peers] - origin, view.own[byzantine] - origin)
            forged[byzantine] = origin + sent
    return forged


class ScaledAttack(OmniscientAttack):
    """An attack on each cluster with a scale, which a line search can find (`optimise`)."""

    def __init__(self, *, scale: float, optimise: bool) -> None:
        self.scale = scale
        self.optimise = optimise

    @abstractmethod
    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """What the Byzantine clients of one cluster send with this scale; see `by_cluster`."""

    def forge(self, view: FederationView) -> Array:
        """With the scale of the settings, or the most harmful one, the same for all clusters."""
        before = view.random.bit_generator.state

        def at(scale: float) -> Array:
            view.random.bit_generator.state = before  # every try with the same random numbers
            return by_cluster(view, lambda honest, own: self.against(honest, own, scale, view))

        if self.optimise:
            return strongest(at, view.rehearse, around=self.scale)
        return at(self.scale)
