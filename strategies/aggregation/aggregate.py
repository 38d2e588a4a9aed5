"""What every aggregator takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass

from tagma.arrays import Array, Mask


@dataclass(frozen=True)
class Aggregate:
    """One vector that stands for m of them."""

    estimate: Array
    """Shape (d,)."""
    kept: Mask | None = None
    """Which rows entered, shape (m,), for rules that choose whole rows."""
    iterations: int | None = None
    """How many iterations it took, for rules that iterate."""
    stopped: str | None = None
    """Why they ended."""


Aggregator = Callable[[Array], Aggregate]
"""From finite vectors of shape (m, d), m >= 1, to their aggregate."""
