"""As claimed: honest but for a false local model, which all later updates bear out.

A client that claims the local model c, and whose own is w, answers as if its loss were moved by
c - w: its update at any model is the one that it honestly has at that model moved back. So no check
of updates against local models finds it. This is what attacks on the clustering do `later` when
they know such a check; by itself, after an honest local model, it is honest.
"""

from tagma.arrays import Array
from tagma.attacks.base import FederationView, OmniscientAttack


class AsClaimed(OmniscientAttack):
    """Knows its clients' own data and what they claimed, and nothing of others."""

    published = "Tagma"
    needs_local_models = True

    def forge(self, view: FederationView) -> Array:
        """The updates of honest clients with such local models."""
        return view.as_claimed()
