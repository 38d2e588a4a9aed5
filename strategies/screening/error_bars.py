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


def error_bound(
    local_models: Array, level: float = LEVEL, weights: Array | None = None
) -> float | None:
    """A bound on ||w - w*|| for the mean of these rows, shape (M, d); None for fewer than two.

    Of a weighted mean the parts p_i r_i are what scatters, and 1 / sum p_i^2 takes the place of M.
    Cost O(M d min(M, d)).
    """
    shares = np.ones(len(local_models)) if weights is None else weights
    chosen = shares > 0
    shares, rows = shares[chosen] / max(float(shares.sum()), 1e-300), local_models[chosen]
    dimension = local_models.shape[1]
    size = 1 / float((shares**2).sum()) if len(rows) > 1 else 1.0
    if size <= 1:
        return None
    parts = (rows - shares @ rows) * (shares * sqrt(size))[:, None]
    products = parts @ parts.T if len(rows) <= dimension else parts.T @ parts
    products *= size / (size - 1)
    trace = float(np.trace(products))
    if not 0 < trace < np.inf:
        return 0.0 if trace == 0 else None  # None: the sum overflows
    freedom = _effective_dimension(trace, float(np.sum(products**2)), size, dimension)
    return sqrt(trace / size * fdtri(freedom, freedom * (size - 1), level))


def _effective_dimension(
    trace: float, trace_of_square: float, size: float, dimension: int
) -> float:
    """d_e; the sample's tr(S^2) has tr(S)^2 / (M - 1) too much of it, which is taken off."""
    unbiased = (trace_of_square - trace**2 / (size - 1)) * (size - 1) / size
    return float(np.clip(trace**2 / max(unbiased, trace**2 / dimension), 1, dimension))
