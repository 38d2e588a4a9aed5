"""Covariance-bound agnostic filter (Allouah et al., 2025)."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, reweighted
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.weighted_variance import largest_variance


@rule
def caf(updates: Rows, *, fraction: Fraction, weights: Array | None = None) -> Aggregate:
    """Of all weighted means on the way, the one with the least variance in any direction.

    All weights start at 1. Each is multiplied by 1 - t_i / max t, where t_i is the row's squared
    distance from the weighted mean along the direction of the largest variance and the maximum is
    over rows that have weight, until no more than m - 2f weight is left. f = floor(fraction m).
    Needs no bound on the covariance, unlike `iterative_filtering`. Breakdown point: f of m. The
    same rows always give the same answer. Cost O(m^2 d), and O(m^3) for each of at most m steps.
    """
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 1) // 2)
    geometry = Geometry(updates)
    current = best = np.ones(m)
    least = np.inf
    iterations = 0
    while current.sum() > m - 2 * f or least == np.inf:
        iterations += 1
        variance, projections = largest_variance(geometry.gram, current)
        if variance < least:
            least, best = variance, current
        farthest = projections[current > 0].max()
        if farthest <= 0:
            break
        current = current * np.maximum(0, 1 - projections / farthest)
    own = best / best.sum() if weights is None else reweighted(best, weights)
    return Aggregate(geometry.combine(own), weights=own, iterations=iterations)
