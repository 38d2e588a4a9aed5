"""Model replacement (Bagdasaryan, Veit, Hua, Estrin, Shmatikov, 2020): BadNets, scaled up.

An average divides what one client wants by their number. So the model that was trained on the
patch is sent as

    received + boost (trained - received),

and what is left of it after averaging is about what was trained. As published, one attacker of m
scales by m over the server's rate; b who do so together need m / b each.
"""

from dataclasses import dataclass

from tagma.attacks.backdoor.backdoor import Boosted
from tagma.attacks.backdoor.badnets import BadNets


@dataclass(kw_only=True, eq=False)
class ModelReplacement(Boosted, BadNets):
    """Local: changes the client's own data, and scales its updates."""

    published = "Bagdasaryan et al. 2020"
