"""What every aggregator takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.numerics.row_blocks import Rows


@dataclass(frozen=True)
class Aggregate:
    """One vector that stands for m of them."""

    estimate: Array
    """Shape (d,), in the rows' own precision."""
    kept: Mask | None = None
    """Which rows entered, shape (m,), for rules that choose whole rows."""
    weights: Array | None = None
    """Where the estimate is an average of rows: their weights, shape (m,), which sum to 1."""
    removed: int = 0
    """How many rows were not finite, or beyond 1e150, and took no part."""
    iterations: int | None = None
    """How many iterations it took, for rules that iterate."""
    stopped: str | None = None
    """Why they ended."""


Aggregator = Callable[[Array], Aggregate]
"""From vectors of shape (m, d), m >= 1, to their aggregate."""


def mean_of(rows: Rows, chosen: Labels) -> Aggregate:
    """The mean of the rows with these numbers."""
    kept = np.zeros(len(rows), dtype=bool)
    kept[chosen] = True
    weights = kept / kept.sum()
    return Aggregate(rows.combine(weights), kept, weights)
