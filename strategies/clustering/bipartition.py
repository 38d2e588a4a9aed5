"""The two halves of clients whose updates are least similar across: how CFL splits a cluster.

Among all bipartitions the one whose greatest cosine across is least is had by cutting the weakest
edge of the maximum spanning tree of the cosines, which is what single linkage joins last. Exact; it
costs n^2 d for the cosines and n^2 log n for the tree.
"""

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from tagma.arrays import Array, Mask


def bipartition(updates: Array) -> tuple[Mask, float]:
    """The second of the two halves with the least similarity across, and that similarity.

    `updates` has rows of length 1, shape (n, d). All on one side where there is only one.
    """
    if len(updates) < 2:
        return np.zeros(len(updates), dtype=bool), 1.0
    similarities = np.clip(updates @ updates.T, -1, 1).astype(np.float64)
    np.fill_diagonal(similarities, 1)
    tree = linkage(squareform(1 - similarities, checks=False), "single")
    labels = cut_tree(tree, 2)[:, 0]
    other: Mask = labels != labels[0]
    return other, float(similarities[np.ix_(other, ~other)].max())
