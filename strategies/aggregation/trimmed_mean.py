"""Coordinate-wise trimmed mean (Yin et al., 2018), the stage III of the paper."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from strategies.aggregation.aggregate import Aggregate
from tagma.arrays import Array


def trimmed_mean(updates: Array, *, beta: Annotated[float, Ge(0), Lt(0.5)]) -> Aggregate:
    """Mean of every coordinate without its floor(beta m) smallest and largest values.

    Breakdown point beta: it must exceed the Byzantine fraction of the worst cluster. The middle is
    summed by itself, never as total minus extremes, which cancels when one value is huge. Cost
    O(m d log m).
    """
    dropped = int(beta * len(updates))
    middle = np.sort(updates, axis=0)[dropped : len(updates) - dropped]
    return Aggregate(middle.mean(axis=0))
