"""Where the clusters differ: a robust principal subspace of the vectors.

Centres of K clusters span K - 1 directions; in all others there is only noise, which hides the
clusters from any rule that looks at distances. Rows are divided by their distance to near
neighbours, so that noisy clients do not turn the subspace, centred at the coordinate-wise median
and cut to their median length, so that no Byzantine client, however far away, weighs more than an
honest client (spherical principal components; Locantore et al., 1999). Kept are the components
whose singular value exceeds what noise alone reaches: the upper edge of the Marchenko-Pastur law,

    sigma (sqrt(m) + sqrt(d)),

with sigma from the distances to near neighbours, too: two clients of one cluster differ by the
noise of both. A minority of clients that are close to each other does not change its median.
"""

from math import sqrt

import numpy as np

from tagma.arrays import Array
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.numerics.noise_edge import noise_edge

_ROOMY = 8
"""No more directions than there could be clusters of so many clients: noise that is strong in few
of very many directions would seem a signal in all of them."""


def signal_directions(centred: Array, spreads: Array, constants: Constants) -> tuple[Array, int]:
    """An orthonormal basis of the signal subspace, shape (p, d), and how many are strong.

    `centred` are the vectors minus their median, `spreads` the noise of their entries by near
    neighbours. Cost O(m d min(m, d)).
    """
    m, d = centred.shape
    relative = spreads / (float(np.median(spreads)) or 1.0)
    weights = 1 / np.maximum(relative, 0.5)
    rows = centred * weights[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    typical = np.median(lengths[lengths > 0]) if lengths.any() else 1.0
    cut = 1 / np.maximum(lengths, typical)
    values, directions = right_singular(rows * cut[:, None])
    edge = float(np.median(spreads * weights * cut)) * sqrt(m) * noise_edge(m, d)
    signals = int((values > (1 + constants.edge_room) * edge).sum())
    strong = int((values > constants.strong * edge).sum())
    most = max(m // _ROOMY, 1)
    return directions[: min(signals, most)], min(strong, most)


def right_singular(rows: Array) -> tuple[Array, Array]:
    """Singular values in descending order, and the right singular vectors as rows."""
    m, d = rows.shape
    if d <= m:
        squares, vectors = np.linalg.eigh(rows.T @ rows)
        directions = vectors.T
    else:
        squares, vectors = np.linalg.eigh(rows @ rows.T)
        directions = vectors.T @ rows
        norms = np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None]
        directions = directions / np.where(norms > 0, norms, 1)
    return np.sqrt(np.maximum(squares, 0))[::-1], directions[::-1]
