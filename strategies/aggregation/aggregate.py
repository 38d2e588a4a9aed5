"""What every aggregator takes and returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.numerics.row_blocks import Rows

Memory = Mapping[str, Array]
"""What a rule keeps from one round to the next: arrays by their names."""


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
    memory: Memory | None = None
    """What the rule wants to be given in the next round, for rules that remember."""


class Aggregator(Protocol):
    """From vectors of shape (m, d), m >= 1, to their aggregate.

    Whoever calls it may give all of what `side_information` describes; a rule uses what it can.
    """

    def __call__(
        self,
        rows: Array,
        /,
        *,
        clients: Labels | None = None,
        weights: Array | None = None,
        reference: Array | None = None,
        memory: Memory | None = None,
        origin: Array | None = None,
    ) -> Aggregate:
        """The aggregate of the rows, and what the rule wants to remember of them."""


def mean_of(rows: Rows, chosen: Labels, shares: Array | None = None) -> Aggregate:
    """The mean of the rows with these numbers, weighted where all rows have shares."""
    kept = np.zeros(len(rows), dtype=bool)
    kept[chosen] = True
    weights = kept / kept.sum() if shares is None else reweighted(kept, shares)
    return Aggregate(rows.combine(weights), kept, weights)


def reweighted(weights: Array | Mask, shares: Array) -> Array:
    """Weights of a plain average, made those of a weighted one; they sum to 1."""
    own = weights * shares
    own /= own.max()  # all may be tiny beside the share of a row that has no weight here
    return own / own.sum()
