"""Model replacement (Bagdasaryan, Veit, Hua, Estrin, Shmatikov, 2020): BadNets, scaled up.

An average divides what one client wants by their number. So the model that was trained on the
patch is sent as

    received + boost (trained - received),

and what is left of it after averaging is about what was trained. As published, one attacker of m
scales by m over the server's rate; b who do so together need m / b each.
"""

from tagma.attacks.backdoor.backdoor import Boost, Boosted, Class, Cluster, Count, Share
from tagma.attacks.backdoor.badnets import BadNets, Feature


class ModelReplacement(Boosted, BadNets):
    """Local: changes the client's own data, and scales its updates."""

    source = "Bagdasaryan et al. 2020"

    def __init__(
        self,
        *,
        target: Class = 0,
        poisoned: Share = 0.5,
        size: Count = 3,
        feature: Feature = 0,
        value: float | None = None,
        boost: Boost | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        BadNets.__init__(
            self, target=target, poisoned=poisoned, size=size, feature=feature, value=value,
            cluster=cluster,
        )  # fmt: skip
        self.boost = boost
