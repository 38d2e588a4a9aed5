"""Tilt: updates at an angle to what the local model says, such as honest ones have, to one side.

Honest updates do not point from the local model exactly (`turned_replies`), each to a side of its
own, so that their mean does. Byzantine clients who turn by as much to a common side move a model
for as long as nobody can object to a single update. They turn

- `away` from the honest clients' mean local model: the model comes to rest where what pulls it back
  outweighs what their local models' scatter hides, or
- `around` it, to one side at a time: if their `angle` and `length` are large for the server's step,
  every round ends farther away than the one before.

With `patience` they first answer, for so many rounds, at the median angle and length of all honest
updates (`median_then_tilt`). Where updates are judged by their own median and spread, this shrinks
the spread: honest clients are excluded, the spread of those that are left shrinks, and in the end
Byzantine clients judge themselves.

Their local models are honest, or those of one true `cluster` that all of them join.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array
from tagma.attacks.adaptive.turned_replies import of_honest, turned
from tagma.attacks.base import FederationView
from tagma.attacks.on_clustering.honest_groups import landscape_of
from tagma.attacks.on_clustering.infiltrate import around
from tagma.attacks.parameter_search import Between, OneOf, Space
from tagma.attacks.searching_attack import SearchingAttack
from tagma.exchange import FIT, GRADIENT

_FIRST = 2
"""The round in which the first updates are sent."""


class Tilt(SearchingAttack):
    """Knows every honest local model and update, and that the two are compared, by their angle."""

    published = "Tagma"
    needs_local_models = True
    space: ClassVar[Space] = {
        "angle": Between(20.0, 89.0),
        "length": Between(0.5, 2.5),
        "direction": OneOf(("away", "around")),
    }
    over_rounds: ClassVar[Space] = {"patience": Between(0, 10, whole=True)}

    def __init__(
        self,
        *,
        cluster: Annotated[int, Ge(0)] | None = None,
        angle: Annotated[float, Ge(0), Lt(90)] | None = None,
        length: Annotated[float, Gt(0)] = 1.0,
        direction: Literal["away", "around"] = "away",
        patience: Annotated[int, Ge(0)] = 0,
        optimise: bool = False,
    ) -> None:
        self.cluster = cluster
        self.angle = angle
        self.length = length
        self.direction = direction
        self.patience = patience
        self.optimise = optimise

    def searches(self, view: FederationView) -> bool:
        """Once it turns updates."""
        return view.work != FIT and view.round >= _FIRST + self.patience

    def sent(self, view: FederationView) -> Array:
        """Honest local models or those of one cluster, then turned updates."""
        if view.work == FIT:
            if self.cluster is None:
                return view.own
            honest = landscape_of(view)
            return around(honest, honest.row(self.cluster), 1.0, len(view.own), view.random)
        fair = of_honest(view)
        claimed = view.own_models - view.claims
        ratio = float(np.median(fair.ratios))
        if view.round < _FIRST + self.patience:
            usual = _directions(view, view.as_claimed())
            sent = turned(claimed, usual, float(np.median(fair.angles)), ratio)
        else:
            angle = float(fair.angles.max()) if self.angle is None else self.angle
            sent = turned(claimed, self._sides(view), min(angle, 90.0), self.length * ratio)
        return sent if view.work == GRADIENT else view.own_models - sent

    def _sides(self, view: FederationView) -> Array:
        """Where to, the same for all who received the same model, shape (b, d)."""
        sides = np.empty_like(view.own)
        for byzantine, honest in view.clusters():
            model = view.own_models[byzantine[0]]
            claims = view.honest_claims[honest] if len(honest) else view.claims[byzantine]
            back = claims.mean(axis=0) - model
            if self.direction == "around" or not back.any():
                back = view.random.standard_normal(len(model))
            sides[byzantine] = back
        return sides


def _directions(view: FederationView, updates: Array) -> Array:
    return updates if view.work == GRADIENT else view.own_models - updates
