"""No attack: every machine is honest."""

from attacks.attack import LocalAttack
from attacks.threat import ThreatModel


class NoAttack(LocalAttack):
    """Changes nothing."""

    threat = ThreatModel("nothing", "nothing")
