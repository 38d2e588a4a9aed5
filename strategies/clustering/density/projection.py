"""Where the clusters differ: a robust principal subspace of the vectors.

Centres of K clusters span K - 1 directions; in all others there is only noise, which hides the
clusters from any rule that looks at distances. Rows are centred at the coordinate-wise median and
cut to their median length, so that no Byzantine client, however far away, weighs more than an
honest client (spherical principal components; Locantore et al., 1999). Kept are the components
whose singular value exceeds what noise alone reaches: the upper edge of the Marchenko-Pastur law,

    sigma (sqrt(m) + sqrt(d)),

with sigma from the smallest quarter of singular values (`noise_edge`).
"""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.numerics.noise_edge import edge_of


def signal_coordinates(vectors: Array, constants: Constants) -> Array:
    """The vectors in their signal subspace, shape (m, p).

    The vectors are projected without being cut. Cost O(m d min(m, d)).
    """
    centred = vectors - np.median(vectors, axis=0)
    lengths = np.linalg.norm(centred, axis=1)
    typical = np.median(lengths[lengths > 0]) if lengths.any() else 1.0
    cut = centred * np.minimum(1, typical / np.maximum(lengths, typical))[:, None]
    values, directions = _right_singular(cut / typical)
    edge = edge_of(values, *vectors.shape)
    signals = int((values > (1 + constants.edge_room) * edge).sum())
    kept = min(max(signals, constants.fewest_components), constants.most_components)
    directions = directions[:kept]
    # Cut to a length that keeps Byzantine clients apart from everyone, but their squares far from
    # overflow.
    reach = np.minimum(1, 1e6 * typical / np.maximum(lengths, typical))[:, None]
    coordinates: Array = (centred * reach) @ directions.T
    return coordinates


def _right_singular(rows: Array) -> tuple[Array, Array]:
    """Singular values in descending order, and the right singular vectors as rows."""
    m, d = rows.shape
    if d <= m:
        squares, vectors = np.linalg.eigh(rows.T @ rows)
        directions = vectors.T
    else:
        squares, vectors = np.linalg.eigh(rows @ rows.T)
        directions = vectors.T @ rows
        norms = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.where(norms > 0, norms, 1)
    return np.sqrt(np.maximum(squares, 0))[::-1], directions[::-1]
