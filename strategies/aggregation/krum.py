"""Krum and Multi-Krum (Blanchard et al., 2017): the rows whose neighbours are nearest."""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, mean_of
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows


@rule
def krum(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """The row with the least sum of squared distances to its m - f - 2 nearest others.

    f = floor(fraction m), at most (m - 3) / 2. Breakdown point: f of m. One row is the answer, so
    honest noise is not averaged out. Cost O(m^2 d).
    """
    return mean_of(updates, _best(updates, fraction)[:1], weights)


@rule
def multi_krum(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """The mean of the m - f rows that Krum scores best. Breakdown point: f of m; cost O(m^2 d)."""
    f = _byzantine(fraction, len(updates))
    return mean_of(updates, _best(updates, fraction)[: len(updates) - f], weights)


def krum_order(squared: Array, f: int) -> Labels:
    """Rows by their score, the sum over the m - f - 2 nearest others, at least one.

    `squared` are the distances, with zeros on the diagonal. Two rows that are each other's nearest
    have equal scores where only one other counts: then the sum over all others decides.
    """
    neighbours = max(1, len(squared) - f - 2)
    scores = np.sort(squared, axis=1)[:, 1 : neighbours + 1].sum(axis=1)
    return np.lexsort((squared.sum(axis=1), scores))


def _best(rows: Rows, fraction: float) -> Labels:
    return krum_order(Geometry(rows).pairwise(), _byzantine(fraction, len(rows)))


def _byzantine(fraction: float, m: int) -> int:
    return byzantine_count(fraction, m, (m - 3) // 2)
