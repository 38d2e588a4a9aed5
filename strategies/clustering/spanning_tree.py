"""The minimum spanning tree of vectors, and what is connected below a length.

Joining all vectors closer than t gives the same connected components as the edges of the tree that
are shorter than t, so one tree answers for every threshold. Cost O(m^2 d), and O(m^2) memory.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from tagma.arrays import Array, Labels


class SpanningTree:
    """m vectors and the m - 1 edges of their tree, shortest first."""

    def __init__(self, vectors: Array) -> None:
        distances = squareform(pdist(vectors))
        # SciPy takes 0 for "no edge" (in dense matrices 1e-8, too); adding the same to all edges
        # does not change the tree.
        shortest = distances[distances > 0].min(initial=np.inf)
        graph = distances + (shortest if np.isfinite(shortest) else 1.0)
        np.fill_diagonal(graph, 0)
        ends = np.stack(minimum_spanning_tree(csr_array(graph)).nonzero())
        lengths = distances[ends[0], ends[1]]
        order = np.argsort(lengths, kind="stable")
        self._m = len(vectors)
        self._ends = ends[:, order]
        self.lengths: Array = lengths[order]
        """Shape (m - 1,), ascending."""

    def __len__(self) -> int:
        return self._m

    def components(self, edges: int) -> Labels:
        """The component of every vector when the shortest `edges` edges join them.

        Components are numbered in the order of their first vectors.
        """
        first, second = self._ends[:, :edges]
        joined = coo_array((np.ones(edges), (first, second)), shape=(self._m, self._m))
        return connected_components(joined, directed=False)[1].astype(np.int64)
