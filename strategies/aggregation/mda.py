"""Minimum diameter averaging (Rousseeuw, 1985; El Mhamdi et al., 2021)."""

import numpy as np

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows

_LARGEST = 14
"""So many rows can be left out; the search takes up to 2^f steps for each diameter it tries."""


@rule
def mda(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """The mean of the m - f rows with the smallest diameter, the largest distance between two.

    f = floor(fraction m). Of several such sets, any. Breakdown point: f of m, below 1/2. Exact: a
    diameter is enough if f rows can be left out so that no two of the others are farther apart,
    a vertex cover of the pairs that are. Cost O(m^2 d) and O(2^f m log m); more than 14 rows to
    leave out are refused.
    """
    squared = Geometry(updates).pairwise()
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 1) // 2)
    if f > _LARGEST:
        raise SettingError(
            "aggregation.fraction", fraction,
            f"leaves out {f} of {m} rows; mda is exact and takes at most {_LARGEST}",
        )  # fmt: skip
    return mean_of(updates, np.array(sorted(_smallest_diameter(squared, m - f))), weights)


def _smallest_diameter(squared: Array, number: int) -> set[int]:
    """The first `number` of the rows that remain for the least diameter for which any do."""
    diameters = np.unique(squared)
    low, high = 0, len(diameters) - 1
    best = set(range(len(squared)))
    while low <= high:
        middle = (low + high) // 2
        apart = [set(np.flatnonzero(row > diameters[middle]).tolist()) for row in squared]
        cover = _cover(apart, len(squared) - number)
        if cover is None:
            low = middle + 1
        else:
            best = set(range(len(squared))) - cover
            high = middle - 1
    return set(sorted(best)[:number])


def _cover(apart: list[set[int]], at_most: int) -> set[int] | None:
    """At most so many rows that meet every pair, or None if there are none such."""
    busiest = max(range(len(apart)), key=lambda row: len(apart[row]))
    pairs = len(apart[busiest])
    if pairs == 0:
        return set()
    if at_most == 0 or sum(map(len, apart)) > 2 * at_most * pairs:
        return None
    # Either the row is left out, or all that are too far from it are.
    for out in ({busiest}, apart[busiest]):
        if len(out) <= at_most:
            left = [set() if row in out else others - out for row, others in enumerate(apart)]
            rest = _cover(left, at_most - len(out))
            if rest is not None:
                return out | rest
    return None
