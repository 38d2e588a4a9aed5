"""The threshold graphs for all gammas at once, and the search for gamma.

The components of the graph that joins points closer than gamma are those of the minimum spanning
tree's edges shorter than gamma. The tree is found by Boruvka's algorithm: in every round, each
component finds the shortest edge that leaves it. A round compares all pairs of different components
in blocks, as matrix products, N^2 d operations at most. At least half of the components vanish in
a round, in practice more; points of the same component are sorted together and no longer compared.

Up to 20,000 points the comparison is in double precision. Beyond, it is in single precision, which
halves time and memory: of two edges whose lengths differ by less than its rounding error (about
1e-6 of the features' norm) it may take the longer. The lengths themselves are always exact.

Memory: one centred copy of the features and some hundred megabytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from tagma.arrays import Array, Labels
from tagma.tasks.feature_graph import ROWS, join, largest_first_labels
from tagma.tasks.pairwise_distances import Features, Pairwise
from tagma.tasks.progress_log import Progress, log_progress

_DOUBLE_UP_TO = 20_000
_TIE = 1e-12
"""Relative difference below which two lengths count as equal."""


@dataclass(frozen=True)
class Tree:
    """A minimum spanning tree of N points: N - 1 edges, the shortest first."""

    ends: Labels
    """Shape (N - 1, 2)."""
    lengths: Array
    """Shape (N - 1,)."""

    @property
    def points(self) -> int:
        """N."""
        return len(self.lengths) + 1

    def components(self, gamma: float) -> Labels:
        """The component of every point, the largest first, when edges are shorter than gamma."""
        ends = self.ends[self.lengths < gamma]
        return largest_first_labels(join(np.arange(self.points), ends[:, 0], ends[:, 1]))


def single_linkage(
    features: Features, *, block: int = ROWS, progress: Progress | None = None
) -> Tree:
    """The minimum spanning tree of the points."""
    count = len(features)
    pairs = Pairwise(features, np.float64 if count <= _DOUBLE_UP_TO else np.float32)
    labels = np.arange(count)
    # Of every point: the nearest one outside of its component, when it was last looked for, and
    # its squared distance, which bounds what there is outside of the present component.
    nearest, bound = labels, np.full(count, -np.inf)
    chosen = np.empty((0, 2), dtype=np.int64)
    while (components := int(labels.max()) + 1) > 1:
        report = progress or log_progress(f"single linkage, {components} components left")
        least = _least(labels, np.where(labels[nearest] == labels, np.inf, bound))
        stale = np.flatnonzero((labels[nearest] == labels) & (bound < least[labels]))
        nearest, bound = nearest.copy(), bound.copy()
        nearest[stale], bound[stale] = _nearest_outside(pairs, labels, stale, block, report)
        known = np.where(labels[nearest] == labels, np.inf, bound)
        shortest = np.flatnonzero(known == _least(labels, known)[labels])
        shortest = shortest[np.unique(labels[shortest], return_index=True)[1]]
        found = np.column_stack([shortest, nearest[shortest]])
        chosen = np.concatenate([chosen, found])
        labels = join(labels, found[:, 0], found[:, 1])
    return _tree(pairs, chosen)


def _least(labels: Labels, values: Array) -> Array:
    """The least value of every label."""
    least = np.full(int(labels.max()) + 1, np.inf)
    np.minimum.at(least, labels, values)
    return least


def _nearest_outside(
    pairs: Pairwise, labels: Labels, points: Labels, block: int, progress: Progress
) -> tuple[Labels, Array]:
    """The nearest point of another label, for each of the `points`, and its squared distance."""
    others = np.setdiff1d(np.arange(len(labels)), points, assume_unique=True)
    by_label = np.argsort(labels[points], kind="stable")
    order = np.concatenate([points[by_label], others[np.argsort(labels[others], kind="stable")]])
    nearest, least = np.full(len(points), -1), np.full(len(points), np.inf)
    for here, there in _blocks(len(points), len(order), block, progress):
        left, right = order[here], order[there]
        same = np.isin(labels[right], labels[left])
        if same.all() and (labels[left] == labels[right[0]]).all():
            continue
        squared = pairs.squared(left, right)
        if same.any():
            squared[labels[left, None] == labels[None, right]] = np.inf
        _keep_less(nearest[here], least[here], squared, right)
        if here != there and there.start < len(points):
            inner = slice(there.start, min(there.stop, len(points)))
            columns = squared[:, : inner.stop - inner.start]
            _keep_less(nearest[inner], least[inner], columns.T, left)
    back = np.argsort(by_label)
    return nearest[back], least[back]


def _blocks(
    rows: int, columns: int, block: int, progress: Progress
) -> Iterator[tuple[slice, slice]]:
    """All pairs of runs, the first among the rows, the second among the columns from there on."""
    for start in range(0, rows, block):
        here = slice(start, min(start + block, rows))
        for first in range(start, columns, block):
            yield here, slice(first, min(first + block, columns))
        progress(here.stop * (2 * columns - here.stop) / (rows * (2 * columns - rows)))


def _keep_less(nearest: Labels, least: Array, squared: Features, others: Labels) -> None:
    """Where a row of `squared` has an entry below `least`, put that and whose it is in place."""
    better = np.flatnonzero(squared.min(axis=1) < least)
    rows = squared[better]
    at = rows.argmin(axis=1)
    least[better] = rows[np.arange(len(better)), at]
    nearest[better] = others[at]


def _tree(pairs: Pairwise, chosen: Labels) -> Tree:
    """The tree among the chosen edges: many come twice, and those of equal length close cycles."""
    ends = np.unique(np.sort(chosen, axis=1), axis=0)
    lengths = pairs.lengths(ends[:, 0], ends[:, 1])
    order = np.argsort(lengths, kind="stable")
    ends, lengths = ends[order], lengths[order]
    # The rank instead of the length: SciPy takes an edge of length 0 for none.
    ranks = np.arange(1.0, len(ends) + 1)
    graph = coo_array((ranks, (ends[:, 0], ends[:, 1])), shape=(len(pairs), len(pairs)))
    kept = np.sort(minimum_spanning_tree(graph).data.astype(np.int64)) - 1
    return Tree(ends[kept], lengths[kept])


def search_gamma(tree: Tree, clusters: int, min_size: int) -> float | None:
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


def large_components(tree: Tree, min_size: int) -> Labels:
    """How many components have at least `min_size` points, after each edge in turn; (N - 1,)."""
    parent = list(range(tree.points))
    size = [1] * tree.points

    def root(point: int) -> int:
        while parent[point] != point:
            parent[point] = point = parent[parent[point]]
        return point

    large = tree.points if min_size <= 1 else 0
    counts = np.empty(len(tree.lengths), dtype=np.int64)
    for edge, (one, other) in enumerate(tree.ends.tolist()):
        small, big = sorted((root(one), root(other)), key=size.__getitem__)
        parent[small] = big
        large -= (size[small] >= min_size) + (size[big] >= min_size)
        size[big] += size[small]
        large += size[big] >= min_size
        counts[edge] = large
    return counts
