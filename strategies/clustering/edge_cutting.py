"""Edge cutting: clients closer than a threshold are joined, connected components are clusters.

This is the paper's simple rule for when local models are accurate: two of one group are close then,
two of different groups far apart. The K largest components are the clusters, and the mean of a
component is its centre; clients of other components are left over.

Without a threshold given, the minimum spanning tree is cut at the widest gap between its sorted
edges, the largest ratio of one to the next shorter. Edges to Byzantine clients may be longer than
all others, and the gap before them the widest. Hence only cuts count under which

- the K largest components hold at least a share 1 - fraction of the clients, and
- the smallest of them has at least that share of the size it has under any cut.

By the second, all honest clients in one component beside K - 1 little groups of Byzantine clients
is no candidate. If no cut does both, the second alone decides.
"""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from scipy.spatial.distance import cdist, pdist, squareform

from tagma.arrays import Array, Labels
from tagma.memory import check_memory
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.numerics.byzantine_count import Fraction
from tagma.strategies.numerics.spanning_tree import (
    DistanceMatrix,
    SpanningTree,
    minimum_spanning_tree,
)

_PER_PAIR = 16
"""Bytes: a distance, and half of one twice on the way."""
_END = 2.0
"""The ratio that the gaps before the shortest and after the longest edge are given."""


@of_finite_points
def edge_cutting(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    fraction: Fraction,
    threshold: Annotated[float, Gt(0)] | None = None,
    leftovers: Literal["nearest", "out"] = "out",
) -> Clustering:
    """The initial labels are only the first row of the history; the rule needs none.

    Leftovers get the label of the nearest centre, since every client needs a model, but do not
    count for the centre. With `out` they are marked as trimmed, with `nearest` they are ordinary
    members; the labels are the same, and what they send in stage III is aggregated either way. With
    fewer than K components, which `stopped` says, the missing clusters are empty, and their
    centres are the coordinate-wise median of all vectors.

    Byzantine clients do no harm, however many, if they keep apart from honest clients and from each
    other. But a chain of them connects two groups: there is no breakdown point. Cost O(m^2 d), and
    O(m^2) memory.
    """
    check_pairs(len(vectors))
    tree = minimum_spanning_tree(DistanceMatrix(squareform(pdist(vectors))))
    if threshold is None:
        edges, threshold = _widest_gap(tree, k, fraction)
    else:
        edges = int(np.searchsorted(tree.lengths, threshold, "left"))
    component = tree.components(edges)
    sizes = np.bincount(component)
    largest = np.argsort(-sizes, kind="stable")[:k]

    centres = np.tile(np.median(vectors, axis=0), (k, 1))
    for number, chosen in enumerate(largest):
        centres[number] = vectors[component == chosen].mean(axis=0)
    labels = cdist(vectors, centres[: len(largest)], "sqeuclidean").argmin(axis=1)
    for number, chosen in enumerate(largest):
        labels[component == chosen] = number
    left_over = ~np.isin(component, largest)
    found = f"{'only ' if len(sizes) < k else ''}{len(sizes)} components"
    return Clustering(
        labels=labels,
        centres=centres,
        trimmed=left_over if leftovers == "out" else np.zeros_like(left_over),
        radius=np.full(k, np.inf),
        history=np.stack([initial[0], labels]),
        iterations=1,
        stopped=f"cut at {threshold:.4g}: {found}, {left_over.sum()} left over",
    )


def check_pairs(m: int) -> None:
    """A `TagmaError` if the distances of all pairs of m vectors do not fit into memory."""
    check_memory(
        _PER_PAIR * m**2,
        f"clustering=edge_cutting of {m:,} clients compares all pairs, which",
        "clustering=density takes as many",
    )


def _widest_gap(tree: SpanningTree, k: int, fraction: float) -> tuple[int, float]:
    """How many of the shortest edges to keep, and a threshold in the middle of the gap there."""
    if len(tree) == 1:
        return 0, 0.0
    held, smallest = np.zeros(len(tree)), np.zeros(len(tree))
    for edges in range(len(tree)):
        sizes = np.sort(np.bincount(tree.components(edges), minlength=k))[::-1]
        held[edges], smallest[edges] = sizes[:k].sum(), sizes[k - 1]
    even = smallest >= (1 - fraction) * smallest.max()
    enough = even & (held >= (1 - fraction) * len(tree))
    candidates = np.flatnonzero(enough if enough.any() else even)
    # As logarithms: lengths may be 0 and their ratios overflow.
    inner = np.log(np.maximum(tree.lengths, np.finfo(np.float64).tiny))
    lengths = np.concatenate([[inner[0] - np.log(_END)], inner, [inner[-1] + np.log(_END)]])
    edges = int(candidates[np.diff(lengths)[candidates].argmax()])
    return edges, float(np.exp((lengths[edges] + lengths[edges + 1]) / 2))
