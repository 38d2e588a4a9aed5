"""No attack: every machine is honest."""

from attacks.attack import LocalAttack


class NoAttack(LocalAttack):
    """Changes nothing."""
