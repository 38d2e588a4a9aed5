"""Coordinates that differ much in noise, as those of features on different scales: their units.

Within the clusters the noise of a coordinate is the median distance from the centre. Before there
are any it is guessed from the gaps of the sorted values: those of one cluster are close to each
other, whatever cluster that is.
"""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants

_NEIGHBOUR = 5
_SMALLEST = 1e-6
"""No unit is smaller than this, in units of the largest."""


def first_units(vectors: Array, constants: Constants) -> Array:
    """Of every coordinate, shape (d,); all 1 unless the gaps differ very much."""
    m, d = vectors.shape
    if m <= _NEIGHBOUR:
        return np.ones(d)
    ordered = np.sort(vectors, axis=0)
    gaps = np.median(ordered[_NEIGHBOUR:] - ordered[:-_NEIGHBOUR], axis=0)
    # Gaps differ by the number of clusters that are alike in the coordinate, too.
    return gaps if (gaps := _if_uneven(gaps, constants.uneven**2)) is not None else np.ones(d)


def units_within(
    vectors: Array, members: Labels, centres: Array, constants: Constants
) -> Array | None:
    """By what the coordinates should be divided, or None where their noise is even enough.

    `centres` are those of the vectors minus their coordinate-wise median.
    """
    inside = np.flatnonzero(members >= 0)
    own = members[inside]
    sums = np.zeros_like(centres)
    np.add.at(sums, own, vectors[inside])
    means = sums / np.maximum(np.bincount(own, minlength=len(centres)), 1)[:, None]
    return _if_uneven(np.median(np.abs(vectors[inside] - means[own]), axis=0), constants.uneven)


def _if_uneven(spreads: Array, ratio: float) -> Array | None:
    low, high = np.quantile(spreads, [0.1, 0.9])
    if high <= ratio * low:
        return None
    units: Array = np.maximum(spreads, _SMALLEST * high)
    return units
