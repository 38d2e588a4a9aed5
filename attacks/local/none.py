"""No attack: every client is honest."""

from tagma.attacks.base import LocalAttack
from tagma.attacks.threat_model import ThreatModel


class NoAttack(LocalAttack):
    """Changes nothing."""

    threat = ThreatModel("nothing", "nothing")
