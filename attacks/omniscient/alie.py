"""A little is enough (Baruch, Baruch, Goldberg, 2019).

The Byzantine clients send mean - z * standard deviation of the honest updates, coordinate by
coordinate: a shift within the noise, so that they look no stranger than many honest clients, and
always to the same side.

With M clients of which b lie, the paper takes the largest z for which enough honest clients lie
beyond the Byzantine clients: s = floor(M / 2 + 1) - b of them make a majority with the Byzantine
clients, so z = quantile((M - b - s) / (M - b)) of the normal distribution.
"""

from typing import Annotated

from annotated_types import Gt
from scipy.special import ndtri

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.per_cluster import ScaledAttack

_USUAL = 1.5
"""Where a search for z begins."""


class ALittleIsEnough(ScaledAttack):
    """Omniscient and colluding."""

    published = "Baruch et al. 2019"

    def __init__(self, *, z: Annotated[float, Gt(0)] | None = None, optimise: bool = False) -> None:
        super().__init__(scale=z or _USUAL, optimise=optimise)
        self._by_formula = z is None and not optimise

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """Mean minus z standard deviations, which divide by h - 1."""
        z = largest_hidden_shift(len(honest), len(own)) if self._by_formula else scale
        spread = honest.std(axis=0, ddof=1) if len(honest) > 1 else 0.0
        return honest.mean(axis=0) - z * spread


def largest_hidden_shift(honest: int, byzantine: int) -> float:
    """The paper's z.

    With few Byzantine clients it may be 0 or less: then they cannot hide at all, and 0 is returned.
    As a majority they need no honest company, and any z would do: three standard deviations, which
    is also the most that is returned.
    """
    needed = (honest + byzantine) // 2 + 1 - byzantine
    if needed <= 0:
        return 3.0
    return min(max(float(ndtri((honest - needed) / honest)), 0.0), 3.0)
