"""A robust estimate of the scale of the vectors around their centres, without labels.

Two vectors of one cluster differ by N(0, 2 sigma^2 I_d), so a vector's distance to its q-th nearest
neighbour, with q a small share of a cluster, is close to the quantile q/M of sigma sqrt(2 chi^2_d).
The median over all vectors keeps this when fewer than half are liars, wherever the liars are.
"""

from math import sqrt

import numpy as np
from scipy.special import gammaincinv

from tagma.arrays import Array

_SAMPLE = 2000
"""With more vectors than this, distances are taken between evenly spaced ones: O(2000^2 d)."""


def estimate_scale(vectors: Array, *, k: int, assumed_fraction: float) -> float:
    """The standard deviation sigma of a vector's entries around its cluster's centre."""
    vectors = vectors[:: -(-len(vectors) // _SAMPLE)]
    m, d = vectors.shape
    if m < 2:
        return 1.0
    # Between no liars and as many as assumed; what is true changes the estimate little.
    expected_size = (1 - assumed_fraction / 2) * m / k
    neighbour = min(max(1, round(expected_size / 4)), m - 1)
    share = min(neighbour / expected_size, 0.5)
    distances = np.partition(_pairwise_distances(vectors), neighbour, axis=1)[:, neighbour]
    quantile_of_chi_square = 2 * gammaincinv(d / 2, share)
    sigma = float(np.median(distances)) / sqrt(2 * quantile_of_chi_square)
    return sigma if sigma > 0 else float(np.finfo(np.float64).tiny)


def _pairwise_distances(vectors: Array) -> Array:
    centred = vectors - np.median(vectors, axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    squared = squares[:, None] + squares - 2 * centred @ centred.T
    return np.sqrt(np.maximum(squared, 0))
