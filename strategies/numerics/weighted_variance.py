"""The largest variance of weighted rows in any direction, from their Gram matrix alone."""

import numpy as np
from scipy.linalg import eigh

from tagma.arrays import Array


def largest_variance(gram: Array, weights: Array) -> tuple[float, Array]:
    """The largest variance of rows with weights c, and their squared projections on its direction.

    The covariance sum_i c_i (x_i - mu)(x_i - mu)^T / sum_i c_i around the weighted mean mu has the
    same largest eigenvalue as the m x m matrix of the products of the rows sqrt(c_i) (x_i - mu).
    Cost O(m^3).
    """
    share = weights / weights.sum()
    means = share @ gram
    centred = gram - means - means[:, None] + share @ means
    roots = np.sqrt(share)
    last = len(gram) - 1
    values, vectors = eigh(
        roots[:, None] * centred * roots, subset_by_index=(last, last), check_finite=False
    )
    variance = max(float(values[0]), 0.0)
    if variance == 0:
        return 0.0, np.zeros(len(gram))
    return variance, (centred @ (roots * vectors[:, 0]) / np.sqrt(variance)) ** 2
