"""A plane on which the clients' vectors are drawn."""

import numpy as np

from tagma.arrays import Array


def principal_plane(vectors: Array) -> tuple[Array, Array]:
    """An origin (d,) and two orthogonal directions (2, d) that show the structure of most vectors.

    The principal components after centring at the coordinate-wise median and shrinking long rows to
    the median length, so that a few far-away Byzantine clients do not choose the plane. Cost O(m d
    min(m, d)).
    """
    origin = np.median(vectors, axis=0)
    rows = vectors - origin
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    typical = np.median(norms)
    rows = rows * np.minimum(1, typical / np.maximum(norms, np.finfo(np.float64).tiny))
    components = np.linalg.svd(rows, full_matrices=False)[2][:2]
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
    plane = np.zeros((2, vectors.shape[1]))
    plane[: len(components)] = components * np.where(signs == 0, 1, signs)[:, None]
    return origin, plane
