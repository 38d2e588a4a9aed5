"""The mean of chosen rows, as an aggregate."""

import numpy as np

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.rows import Rows
from tagma.arrays import Labels


def mean_of(rows: Rows, chosen: Labels) -> Aggregate:
    """The mean of the rows with these numbers."""
    kept = np.zeros(len(rows), dtype=bool)
    kept[chosen] = True
    weights = kept / kept.sum()
    return Aggregate(rows.combine(weights), kept, weights)


def smallest(scores: np.ndarray, number: int) -> Labels:
    """Which are the smallest scores; of equal ones, the first."""
    return np.sort(np.argsort(scores, kind="stable")[:number])
