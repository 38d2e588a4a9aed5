"""How far stage III may move a model from where stage II put it.

The mean of a cluster's local models is as wrong as their scatter says (`error_bars`): with 95 %
confidence the minimiser is within that bound, and so is where stage III ends. Byzantine clients who
pass every check of replies can therefore move the model by no more than the bound. A model that
would leave it is put back on its border, unless two thirds of the cluster's replies
point farther out: then local models share a bias, as those of few examples do, and the bound grows.
A minority cannot make it grow. Where one step would go far beyond the bound, few clients lead the
model: the bound shrinks, in the end to the local models' mean, which they cannot move any more. Who
was in quarantine has no say; whose reply was odd has.
"""

from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.screening.error_bars import error_bound

_ROOM = 1.1
"""Room around the bound: a bias that all local models share is small beside it."""
_MOST = 2 / 3
"""So many replies that point outwards are evidence."""
_GROWTH = 1.5
"""By how much the bound grows in one round."""
_TORN = 1.2
"""A model that would go farther than this in one round is led; shared bias pulls more gently."""
_LED = 0.5
"""By how much the bound shrinks where the model is led."""
_ROUNDING = 1e-9
_FEWEST = 4
"""Fewer replies are no evidence."""


@dataclass(frozen=True)
class Confinement:
    """How far every model may go, and which wanted to go farther."""

    radii: Array
    """From its centre, shape (K,)."""
    pull: Array
    """Where the last round wanted each model, as a share of its radius, shape (K,)."""

    @property
    def at_border(self) -> Mask:
        """Models that wanted to go farther."""
        border: Mask = self.pull > 1 + _ROUNDING
        return border

    @property
    def torn(self) -> Mask:
        """Those that wanted so in one round's step: what only few of the clients want."""
        torn: Mask = self.pull > _TORN
        return torn

    @classmethod
    def around(
        cls, local_models: Array, labels: Labels, counts: Mask, weights: Array | None, k: int
    ) -> "Confinement":
        """The bounds of k clusters; none where one client alone is a cluster."""
        bounds = []
        for cluster in range(k):
            own = counts & (labels == cluster)
            bound = error_bound(
                local_models[own], weights=None if weights is None else weights[own]
            )
            bounds.append(np.inf if bound is None else _ROOM * bound)
        return cls(np.array(bounds), np.zeros(k))

    def confine(
        self, cluster: int, centre: Array, model: Array, directions: Array
    ) -> tuple[Array, "Confinement"]:
        """The model, or the nearest that is allowed, and what is allowed from now on.

        `directions` are those of the cluster's replies, as gradients are. Cost O(M d).
        """
        away = model - centre
        distance = float(np.linalg.norm(away))
        radius = float(self.radii[cluster])
        radii, pull = self.radii, self.pull.copy()
        if distance > radius:
            radii = radii.copy()
            if _point(directions, away):
                radius = radii[cluster] = min(distance, _GROWTH * radius)
            elif distance > _TORN * radius and len(directions) >= _FEWEST:
                radius = radii[cluster] = _LED * radius
        pull[cluster] = distance / radius if radius else 0.0
        if distance > radius:
            model = (centre + away * (radius / distance)).astype(model.dtype, copy=False)
        return model, replace(self, radii=radii, pull=pull)


def _point(directions: Array, away: Array) -> bool:
    """Whether nearly all want to go farther; gradients point back from where a client wants to."""
    return len(directions) >= _FEWEST and float((directions @ away < 0).mean()) >= _MOST
