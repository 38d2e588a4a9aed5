"""What every aggregator takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass

from tagma.arrays import Array, Mask


@dataclass(frozen=True)
class Aggregate:
    """One vector that stands for m of them."""

    estimate: Array
    """Shape (d,), in the rows' own precision."""
    kept: Mask | None = None
    """Which rows entered, shape (m,), for rules that choose whole rows."""
    weights: Array | None = None
    """Where the estimate is an average of rows: their weights, shape (m,), which sum to 1.

    Rules that measure distances draw rows of astronomic size in; the weights are of those then."""
    removed: int = 0
    """How many rows were not finite and took no part."""
    iterations: int | None = None
    """How many iterations it took, for rules that iterate."""
    stopped: str | None = None
    """Why they ended."""


Aggregator = Callable[[Array], Aggregate]
"""From vectors of shape (m, d), m >= 1, to their aggregate."""
