"""A little is enough (Baruch, Baruch, Goldberg, 2019).

The liars send mean - z * standard deviation of the honest updates, coordinate by coordinate: a
shift within the noise, so that they look no stranger than many honest machines, and always to the
same side.

With M machines of which b lie, the paper takes the largest z for which enough honest machines lie
beyond the liars: s = floor(M / 2 + 1) - b of them make a majority with the liars, so
z = quantile((M - b - s) / (M - b)) of the normal distribution.
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

    source = "Baruch et al. 2019"

    def __init__(self, *, z: Annotated[float, Gt(0)] | None = None, optimise: bool = False) -> None:
        super().__init__(scale=z or _USUAL, optimise=optimise)
        self._by_formula = z is None and not optimise

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """Mean minus z standard deviations, which divide by h - 1."""
        z = largest_hidden_shift(len(honest), len(own)) if self._by_formula else scale
        spread = honest.std(axis=0, ddof=1) if len(honest) > 1 else 0.0
        return honest.mean(axis=0) - z * spread


def largest_hidden_shift(honest: int, liars: int) -> float:
    """The paper's z.

    With few liars it may be 0 or less: then they cannot hide at all, and 0 is returned. As a
    majority they need no honest company, and any z would do: three standard deviations, which is
    also the most that is returned.
    """
    needed = (honest + liars) // 2 + 1 - liars
    if needed <= 0:
        return 3.0
    return min(max(float(ndtri((honest - needed) / honest)), 0.0), 3.0)
