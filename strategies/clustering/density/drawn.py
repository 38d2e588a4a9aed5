"""Who is looked at, where there are too many clients to compare all pairs."""

import numpy as np

from tagma.arrays import Labels
from tagma.rng import stream


def some_of(count: int, most: int) -> Labels:
    """The numbers 0, ..., count - 1, or `most` of them drawn at random, in ascending order."""
    if count <= most:
        return np.arange(count)
    return np.sort(stream(0, "clients that are drawn", count).choice(count, most, replace=False))
