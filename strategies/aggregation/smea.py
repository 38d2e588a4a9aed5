"""Smallest maximum eigenvalue averaging (Allouah et al., 2023)."""

from itertools import combinations
from math import comb

import numpy as np

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows

_SUBSETS = 50_000
"""Largest number of subsets that are tried."""
_BATCH = 512


@rule
def smea(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """The mean of the m - f rows whose largest variance in any direction is least.

    f = floor(fraction m). Breakdown point: f of m; the best possible error of all rules here, at a
    price: all C(m, f) subsets are tried, and more than 50,000 are refused. Cost O(m^2 d) and
    O(C(m, f) m^3).
    """
    gram = Geometry(updates).gram
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 1) // 2)
    if comb(m, f) > _SUBSETS:
        raise SettingError(
            "aggregation.fraction", fraction,
            f"leaves out {f} of {m} rows in {comb(m, f):,} ways; smea tries at most {_SUBSETS:,}",
        )  # fmt: skip
    subsets = np.array(list(combinations(range(m), m - f)))
    batches = [subsets[start : start + _BATCH] for start in range(0, len(subsets), _BATCH)]
    variances = [_largest_variances(gram[b[:, :, None], b[:, None, :]]) for b in batches]
    return mean_of(updates, subsets[np.concatenate(variances).argmin()], weights)


def _largest_variances(grams: np.ndarray) -> np.ndarray:
    """Largest eigenvalues of centred Gram matrices of equal size, shape (B, n, n)."""
    means = grams.mean(axis=1)
    centred = grams - means[:, None, :] - means[:, :, None] + means.mean(axis=1)[:, None, None]
    return np.linalg.eigvalsh(centred)[:, -1]
