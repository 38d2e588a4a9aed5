"""Clustering with iterative filtering: Algorithm 3 of the paper in its form for K clusters.

One iteration: the centre of every cluster by the spectral filter on its members, then every point
to its nearest centre. The paper analyses two symmetric clusters with fresh points in every
iteration (`symmetric_iterative_filtering` is that) and says that K clusters are possible; here all
iterations use all points, as in Algorithm 2. Where the others' error grows like sqrt(d) with the
Byzantine clients in a cluster, the filter's does not.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.lloyd import CentreRule, Centres, lloyd
from tagma.strategies.clustering.weighted_centres import Points
from tagma.strategies.numerics.byzantine_count import Fraction
from tagma.strategies.numerics.noise_scale import estimate_scale
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.spectral_filter import Filtered, filter_subset
from tagma.strategies.numerics.top_eigenpair import Spread


@of_finite_points
def kfiltered_means(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
    sigma: Annotated[float, Gt(0)] | None = None,
) -> Clustering:
    """What the filter drops is trimmed; `stopped` also says how it ended in the last clusters.

    Breakdown point min(removable, 1/2) of every cluster. Assumes noise of about the same strength
    `sigma` in all directions and clusters; it is estimated when not given. Cost of an iteration for
    R restarts: R K filters.
    """
    if sigma is None:
        sigma = estimate_scale(vectors, k=k, fraction=fraction)
    rows = Rows(vectors)
    spread = Spread(rows)

    def filtered(inside: Mask) -> Filtered:
        return filter_subset(
            rows, spread, np.flatnonzero(inside),
            sigma=sigma, factor=factor, removable=removable,
        )  # fmt: skip

    result = lloyd(
        vectors, initial, _filtered_means(filtered),
        k=k, iterations=iterations, fraction=fraction, scale=sigma,
    )  # fmt: skip
    members = [result.labels == number for number in range(k)]
    last = [filtered(inside) for inside in members if inside.any()]
    return replace(result, stopped=f"{result.stopped}; filter: {_summary(last)}")


def _filtered_means(filtered: Callable[[Mask], Filtered]) -> CentreRule:
    def rule(points: Points, members: Mask) -> Centres:
        kept = np.stack([filtered(inside).kept for inside in members])
        return Centres(kept / kept.sum(axis=1, keepdims=True), within=kept | ~members)

    return rule


def _summary(filters: list[Filtered]) -> str:
    """For example "within the bound in 4 clusters, removal limit in 1, after 9 removals"."""
    counts = Counter(one.stopped for one in filters)
    words = [
        f"{reason} in {count}{' clusters' if place == 0 and count > 1 else ''}"
        for place, (reason, count) in enumerate(sorted(counts.items(), reverse=True))
    ]
    return f"{', '.join(words)}, after {sum(one.iterations for one in filters)} removals"
