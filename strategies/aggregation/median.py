"""Coordinate-wise median (Yin et al., 2018)."""

import numpy as np

from strategies.aggregation.aggregate import Aggregate
from tagma.arrays import Array


def median(updates: Array) -> Aggregate:
    """Median of every coordinate. Breakdown point 1/2; cost O(m d) expected."""
    return Aggregate(np.median(updates, axis=0))
