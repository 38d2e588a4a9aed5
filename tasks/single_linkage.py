"""The threshold graphs for all gammas at once, and the search for gamma.

The components of the graph that joins points closer than gamma are those of the minimum spanning
tree's edges shorter than gamma. The tree compares points in blocks, as matrix products, at most
N^2 d operations in each of a few rounds.

Up to 20,000 points the comparison is in double precision. Beyond, it is in single precision, which
halves time and memory: of two edges whose lengths differ by less than its rounding error (about
1e-6 of the features' norm) it may take the longer. The lengths themselves are always exact.

Memory: one centred copy of the features and some hundred megabytes.
"""

import numpy as np

from tagma.arrays import Labels
from tagma.strategies.numerics.spanning_tree import SpanningTree, minimum_spanning_tree
from tagma.tasks.feature_graph import ROWS, largest_first_labels
from tagma.tasks.pairwise_distances import Features, Pairwise
from tagma.tasks.progress_log import Progress, log_progress

_DOUBLE_UP_TO = 20_000
_TIE = 1e-12
"""Relative difference below which two lengths count as equal."""


def single_linkage(
    features: Features, *, block: int = ROWS, progress: Progress | None = None
) -> SpanningTree:
    """The minimum spanning tree of the points."""

    def report(components: int) -> Progress:
        return progress or log_progress(f"single linkage, {components} components left")

    pairs = Pairwise(features, np.float64 if len(features) <= _DOUBLE_UP_TO else np.float32)
    return minimum_spanning_tree(pairs, block=block, progress=report)


def components_below(tree: SpanningTree, gamma: float) -> Labels:
    """The component of every point, the largest first, when edges are shorter than gamma."""
    return largest_first_labels(tree.components(int(np.searchsorted(tree.lengths, gamma))))


def search_gamma(tree: SpanningTree, clusters: int, min_size: int) -> float | None:
    """The gamma whose graph has exactly `clusters` components of at least `min_size` points.

    The largest one: with gamma, the points in such components only become more. In the middle
    between the longest edge of its graph and the shortest beyond. None if there is no such gamma.
    Cost O(N log N).
    """
    counts = large_components(tree, min_size)
    lengths = np.append(tree.lengths, np.inf)
    last_of_ties = lengths[1:] > lengths[:-1] * (1 + _TIE)
    fitting = np.flatnonzero((counts == clusters) & last_of_ties)
    if not len(fitting):
        return None
    below, above = lengths[fitting[-1]], lengths[fitting[-1] + 1]
    # Beyond the longest edge of all, every gamma fits; all points may be equal.
    return float((below + above) / 2) if np.isfinite(above) else float(2 * below) or 1.0


def large_components(tree: SpanningTree, min_size: int) -> Labels:
    """How many components have at least `min_size` points, after each edge in turn; (N - 1,)."""
    parent = list(range(len(tree)))
    size = [1] * len(tree)

    def root(point: int) -> int:
        while parent[point] != point:
            parent[point] = point = parent[parent[point]]
        return point

    large = len(tree) if min_size <= 1 else 0
    counts = np.empty(len(tree.lengths), dtype=np.int64)
    for edge, (one, other) in enumerate(tree.ends.tolist()):
        small, big = sorted((root(one), root(other)), key=size.__getitem__)
        parent[small] = big
        large -= (size[small] >= min_size) + (size[big] >= min_size)
        size[big] += size[small]
        large += size[big] >= min_size
        counts[edge] = large
    return counts
