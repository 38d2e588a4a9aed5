"""Bulyan (El Mhamdi et al., 2018): rows chosen by Krum, then a mean around their median."""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.krum import krum_order
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.mean_near_median import mean_near_median
from tagma.strategies.numerics.row_blocks import Rows


@rule
def bulyan(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """Krum chooses m - 2f rows, one after the other; then, per coordinate, m - 4f near the median.

    f = floor(fraction m), at most (m - 3) / 4: the rule needs m >= 4f + 3. Breakdown point: f of m,
    below 1/4. Cost O(m^2 d), and O(m^3 log m) for choosing.
    """
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 3) // 4)
    chosen = _choose(Geometry(updates).pairwise(), f)
    kept = np.zeros(m, dtype=bool)
    kept[chosen] = True
    own = None if weights is None else weights[chosen]
    return Aggregate(mean_near_median(updates.take(chosen), m - 4 * f, own), kept)


def _choose(squared: Array, f: int) -> Labels:
    left = np.arange(len(squared))
    chosen = []
    for _ in range(len(squared) - 2 * f):
        best = krum_order(squared[np.ix_(left, left)], f)[0]
        chosen.append(left[best])
        left = np.delete(left, best)
    return np.sort(np.array(chosen))
