"""Coordinates that differ much in noise, as those of features on different scales: their units.

Within the clusters the noise of a coordinate is the median distance from the centre. Before there
are any it is guessed from the gaps of the sorted values: those of one cluster are close to each
other, whatever cluster that is.

Only with at most as many coordinates as clients: of large models most coordinates hardly vary, and
their units would make these the measure.
"""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants

_NEIGHBOUR = 5
_SMALLEST = 1e-6
"""A coordinate that varies less than this, in units of the largest, does not vary."""


def first_units(vectors: Array, constants: Constants) -> Array:
    """Of every coordinate, shape (d,); all 1 unless the gaps differ very much."""
    m, d = vectors.shape
    if m <= _NEIGHBOUR or d > m:
        return np.ones(d)
    ordered = np.sort(vectors, axis=0)
    gaps = coordinate_medians(ordered[_NEIGHBOUR:] - ordered[:-_NEIGHBOUR])
    # Gaps differ by the number of clusters that are alike in the coordinate, too.
    units = _if_uneven(gaps, constants.uneven**2)
    return np.ones(d) if units is None else units


def units_within(
    vectors: Array, members: Labels, centres: Array, constants: Constants
) -> Array | None:
    """By what the coordinates should be divided, or None where their noise is even enough.

    `centres` are those of the vectors minus their coordinate-wise median.
    """
    if vectors.shape[1] > len(members):
        return None
    inside = np.flatnonzero(members >= 0)
    own = members[inside]
    shares = (own == np.arange(len(centres))[:, None]).astype(np.float64)
    means = shares @ vectors[inside] / np.maximum(shares.sum(axis=1), 1)[:, None]
    return _if_uneven(coordinate_medians(np.abs(vectors[inside] - means[own])), constants.uneven)


def coordinate_medians(rows: Array) -> Array:
    """The median of every coordinate; of an even number the mean of the middle two."""
    half = len(rows) // 2
    middle = np.sort(rows, axis=0)[half - (len(rows) % 2 == 0) : half + 1]
    medians: Array = middle.mean(axis=0)
    return medians


def _if_uneven(spreads: Array, ratio: float) -> Array | None:
    """Units, if the coordinates that vary at all differ by more than the ratio."""
    varying = spreads > _SMALLEST * spreads.max()
    ordered = np.sort(spreads[varying])
    if not len(ordered):
        return None
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    if high <= ratio * low:
        return None
    units: Array = np.where(varying, np.maximum(spreads, low), high)
    return units
