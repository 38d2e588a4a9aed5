"""The minimum spanning tree of points, and what is connected below a length.

Joining all points closer than t gives the same connected components as the edges of the tree that
are shorter than t, so one tree answers for every threshold.

The tree is found by Boruvka's algorithm: in every round, each component finds the shortest edge
that leaves it. A round compares all pairs of different components, block by block, O(N^2)
distances at most. At least half of the components vanish in a round, in practice more; points of
the same component are sorted together and no longer compared.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.csgraph import minimum_spanning_tree as spanning_tree_of_graph

from tagma.arrays import Array, Labels

_BLOCK = 2048
"""Points on the two sides of a block."""

Progress = Callable[[float], None]
"""Is given the share of a round that is done, from 0 to 1."""


class Distances(Protocol):
    """The distances of N points."""

    def __len__(self) -> int:
        """N."""

    def squared(self, left: Labels, right: Labels, /) -> NDArray[np.floating[Any]]:
        """What orders the edges between the points `left` and `right`, in a new array (r, c)."""

    def lengths(self, left: Labels, right: Labels, /) -> Array:
        """The exact distance of each pair (left[i], right[i])."""


class DistanceMatrix:
    """All distances, held in an array (N, N)."""

    def __init__(self, distances: Array) -> None:
        self._distances = distances

    def __len__(self) -> int:
        return len(self._distances)

    def squared(self, left: Labels, right: Labels) -> Array:
        """The distances themselves, which have the same order."""
        return self._distances[np.ix_(left, right)]

    def lengths(self, left: Labels, right: Labels) -> Array:
        """The distance of each pair."""
        return self._distances[left, right]


@dataclass(frozen=True)
class SpanningTree:
    """A minimum spanning tree of N points: N - 1 edges, the shortest first."""

    ends: Labels
    """Shape (N - 1, 2)."""
    lengths: Array
    """Shape (N - 1,), ascending."""

    def __len__(self) -> int:
        """N."""
        return len(self.lengths) + 1

    def components(self, edges: int) -> Labels:
        """The component of every point when the shortest `edges` edges join them.

        Components are numbered in the order of their first points.
        """
        return join(np.arange(len(self)), self.ends[:edges, 0], self.ends[:edges, 1])


def minimum_spanning_tree(
    distances: Distances,
    *,
    block: int = _BLOCK,
    progress: Callable[[int], Progress] | None = None,
) -> SpanningTree:
    """The tree of N points. `progress` is called for every round with the number of components."""
    labels = np.arange(len(distances))
    # Of every point: the nearest one outside of its component, when it was last looked for, and
    # its squared distance, which bounds what there is outside of the present component.
    nearest, bound = labels, np.full(len(labels), -np.inf)
    chosen = np.empty((0, 2), dtype=np.int64)
    while (components := int(labels.max()) + 1) > 1:
        report = progress(components) if progress else None
        least = _least(labels, np.where(labels[nearest] == labels, np.inf, bound))
        stale = np.flatnonzero((labels[nearest] == labels) & (bound < least[labels]))
        nearest, bound = nearest.copy(), bound.copy()
        nearest[stale], bound[stale] = _nearest_outside(distances, labels, stale, block, report)
        known = np.where(labels[nearest] == labels, np.inf, bound)
        shortest = np.flatnonzero(known == _least(labels, known)[labels])
        shortest = shortest[np.unique(labels[shortest], return_index=True)[1]]
        found = np.column_stack([shortest, nearest[shortest]])
        chosen = np.concatenate([chosen, found])
        labels = join(labels, found[:, 0], found[:, 1])
    return _tree(distances, chosen)


def join(labels: Labels, left: Labels, right: Labels) -> Labels:
    """New labels 0, 1, ..., where the components of left[i] and right[i] are one, for all i."""
    apart = labels[left] != labels[right]
    if not apart.any():
        return labels
    count = int(labels.max()) + 1
    ends = (labels[left[apart]], labels[right[apart]])
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(count, count))
    merged: Labels = connected_components(graph, directed=False)[1].astype(np.int64)
    return merged[labels]


def _least(labels: Labels, values: Array) -> Array:
    """The least value of every label."""
    least = np.full(int(labels.max()) + 1, np.inf)
    np.minimum.at(least, labels, values)
    return least


def _nearest_outside(
    distances: Distances, labels: Labels, points: Labels, block: int, progress: Progress | None
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
        squared = distances.squared(left, right)
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
    rows: int, columns: int, block: int, progress: Progress | None
) -> Iterator[tuple[slice, slice]]:
    """All pairs of runs, the first among the rows, the second among the columns from there on."""
    for start in range(0, rows, block):
        here = slice(start, min(start + block, rows))
        for first in range(start, columns, block):
            yield here, slice(first, min(first + block, columns))
        if progress:
            progress(here.stop * (2 * columns - here.stop) / (rows * (2 * columns - rows)))


def _keep_less(
    nearest: Labels, least: Array, squared: NDArray[np.floating[Any]], others: Labels
) -> None:
    """Where a row of `squared` has an entry below `least`, put that and whose it is in place."""
    better = np.flatnonzero(squared.min(axis=1) < least)
    rows = squared[better]
    at = rows.argmin(axis=1)
    least[better] = rows[np.arange(len(better)), at]
    nearest[better] = others[at]


def _tree(distances: Distances, chosen: Labels) -> SpanningTree:
    """The tree among the chosen edges: many come twice, and those of equal length close cycles."""
    ends = np.unique(np.sort(chosen, axis=1), axis=0)
    lengths = distances.lengths(ends[:, 0], ends[:, 1])
    order = np.argsort(lengths, kind="stable")
    ends, lengths = ends[order], lengths[order]
    # The rank instead of the length: SciPy takes an edge of length 0 for none.
    ranks = np.arange(1.0, len(ends) + 1)
    graph = coo_array((ranks, (ends[:, 0], ends[:, 1])), shape=(len(distances), len(distances)))
    kept = np.sort(spanning_tree_of_graph(graph).data.astype(np.int64)) - 1
    return SpanningTree(ends[kept], lengths[kept])
