"""A robust estimate of the scale of the vectors around their centres, without labels.

Two vectors of one cluster differ by N(0, 2 sigma^2 I_d), so a vector's distance to its q-th nearest
neighbour, with q a small share of a cluster, is close to the quantile q/M of sigma sqrt(2 chi^2_d).
The median over all vectors keeps this when fewer than half are Byzantine clients, wherever the
Byzantine clients are.
"""

from math import sqrt

import numpy as np
from scipy.special import gammaincinv

from tagma.arrays import Array
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows

_SAMPLE = 2000
"""With more vectors than this, distances are taken between evenly spaced ones: O(2000^2 d)."""


def estimate_scale(vectors: Array, *, k: int, fraction: float) -> float:
    """The standard deviation sigma of a vector's entries around its cluster's centre."""
    vectors = vectors[:: -(-len(vectors) // _SAMPLE)]
    if len(vectors) < 2:
        return 1.0
    geometry = Geometry(Rows(vectors))
    return scale_of(geometry, vectors.shape[1], k=k, fraction=fraction)


def scale_of(geometry: Geometry, dim: int, *, k: int, fraction: float) -> float:
    """The same from the distances between the vectors, in `dim` dimensions."""
    m = len(geometry)
    if m < 2:
        return 1.0
    # Between no Byzantine clients and as many as assumed; what is true changes the estimate little.
    expected_size = (1 - fraction / 2) * m / k
    neighbour = min(max(1, round(expected_size / 4)), m - 1)
    share = min(neighbour / expected_size, 0.5)
    distances = np.sqrt(geometry.pairwise())
    nearest = np.partition(distances, neighbour, axis=1)[:, neighbour]
    quantile_of_chi_square = 2 * gammaincinv(dim / 2, share)
    sigma = float(np.median(nearest)) / sqrt(2 * quantile_of_chi_square)
    return sigma if sigma > 0 else float(np.finfo(np.float64).tiny)
