"""The components of the graph that joins points closer than gamma.

This is how the paper makes clusters of real data (section "Yahoo! Learning to Rank dataset"). The
graph is never stored. Points are compared in stripes with all that were not compared before, and
what is joined is merged at once: points that are known to be in one component are not compared
with each other any more. A stripe is taken from the largest component, so that it soon swallows
the points that belong to it.

Cost: at most one half of all pairs, N^2 d operations in single precision as matrix products; the
less, the larger the components. Memory: one centred copy of the features (4 N d bytes) and some
hundred megabytes. The components are exact: where rounding could matter, a pair is compared in
double precision.
"""

import numpy as np

from tagma.arrays import Labels
from tagma.strategies.numerics.spanning_tree import join
from tagma.tasks.pairwise_distances import Features, Pairwise
from tagma.tasks.progress_log import Progress, log_progress

ROWS, COLUMNS = 2048, 4096
"""Points on the two sides of a block."""


def threshold_components(
    features: Features,
    gamma: float,
    *,
    rows: int = ROWS,
    columns: int = COLUMNS,
    progress: Progress | None = None,
) -> Labels:
    """The component of every point, the largest component first, when d(x, y) < gamma is an edge.

    Does not depend on `rows` and `columns`, which bound the memory.
    """
    progress = progress or log_progress("threshold graph")
    pairs = Pairwise(features)
    labels = np.arange(len(features))
    left = np.arange(len(features))
    while len(left):
        of_left = labels[left]
        largest_first = np.lexsort((of_left, -np.bincount(of_left)[of_left]))
        left, of_left = left[largest_first], of_left[largest_first]
        stripe, others = left[:rows], left
        if of_left[0] == of_left[len(stripe) - 1]:
            others = left[np.count_nonzero(of_left == of_left[0]) :]
        for start in range(0, len(others), columns):
            labels = _join_closer(pairs, gamma, labels, stripe, others[start : start + columns])
        left = left[rows:]
        progress(1 - (len(left) / len(features)) ** 2)
    return largest_first_labels(labels)


def _join_closer(
    pairs: Pairwise, gamma: float, labels: Labels, stripe: Labels, others: Labels
) -> Labels:
    """The labels after joining all pairs of `stripe` and `others` that are closer than gamma."""
    squared = pairs.squared(stripe, others)
    limit = (gamma / pairs.unit) ** 2
    slack = pairs.slack(stripe, others) + 1e-6 * limit
    row, column = np.nonzero(squared < limit + slack)
    sure = squared[row, column] < limit - slack
    left, right = stripe[row], others[column]
    labels = join(labels, left[sure], right[sure])
    left, right = left[~sure], right[~sure]
    apart = labels[left] != labels[right]
    left, right = left[apart], right[apart]
    edges = pairs.lengths(left, right) < gamma
    return join(labels, left[edges], right[edges])


def largest_first_labels(labels: Labels) -> Labels:
    """The same components numbered by size; of equal ones, that with the first point is first."""
    _, first, inverse, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return rank[inverse]
