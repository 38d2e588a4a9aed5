"""How wrong a cluster's model may be, from the local models of its clients.

Split the M clients into two halves and average each half's local models: the difference of the two
means, halved, has the same distribution as the error of the mean of all. Averaged over all splits,
its square is tr(S) / M, with S the sample covariance; so no split needs to be drawn. The error's
square over it follows about an F distribution with d_e and d_e (M - 1) degrees of freedom, where

    d_e = (tr Sigma)^2 / tr(Sigma^2)

is the number of directions in which the noise is large (Box, 1954). The bound is its quantile.

It is the error of the mean of the local models, where stage III begins. Stage III, which uses all
data at once, ends no farther away when local models are unbiased: for n = 2 d examples it is 1.4
times as accurate, for n >> d the same. Not covered: a bias that local models share, as with fewer
examples than coefficients or a ridge, and what Byzantine clients do who have not been found.
"""

from math import sqrt

import numpy as np
from scipy.special import fdtri

from tagma.arrays import Array

LEVEL = 0.95
"""The share of clusters whose error should be below the bound."""


def error_bound(local_models: Array, level: float = LEVEL) -> float | None:
    """A bound on ||w - w*|| for the mean of these rows, shape (M, d); None for fewer than two.

    Cost O(M d min(M, d)).
    """
    size, dimension = local_models.shape
    if size < 2:
        return None
    centred = local_models - local_models.mean(axis=0)
    products = centred @ centred.T if size <= dimension else centred.T @ centred
    products /= size - 1
    trace = float(np.trace(products))
    if not 0 < trace < np.inf:
        return 0.0 if trace == 0 else None  # None: the sum overflows
    freedom = _effective_dimension(trace, float(np.sum(products**2)), size, dimension)
    return sqrt(trace / size * fdtri(freedom, freedom * (size - 1), level))


def _effective_dimension(trace: float, trace_of_square: float, size: int, dimension: int) -> float:
    """d_e; the sample's tr(S^2) has tr(S)^2 / (M - 1) too much of it, which is taken off."""
    unbiased = (trace_of_square - trace**2 / (size - 1)) * (size - 1) / size
    return float(np.clip(trace**2 / max(unbiased, trace**2 / dimension), 1, dimension))
