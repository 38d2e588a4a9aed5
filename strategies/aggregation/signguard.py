"""SignGuard (Xu et al., 2022): rows with unusual lengths or signs are left out."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, reweighted
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms

_ENTRIES = 2**18
_SHIFTS = 100


@from_origin
@rule
def signguard(
    updates: Rows,
    *,
    shortest: Annotated[float, Ge(0)] = 0.1,
    longest: Annotated[float, Gt(0)] = 3.0,
    weights: Array | None = None,
) -> Aggregate:
    """The mean of the trusted rows, each cut to the median length.

    Trusted are rows between `shortest` and `longest` times the median length, which are also in the
    largest group by the shares of positive, zero and negative entries, found by mean shift; of
    equally large groups, the one nearest to the median of the shares. All entries are counted, not
    a random tenth of them as in the paper, so that the same rows give the same answer. Made for
    gradients; models are measured from their `origin`. Breakdown point 1/2 in length; in direction,
    none is proven. Cost O(m d) and O(m^2).
    """
    lengths = norms(updates)
    median = float(np.median(lengths))
    usual = (lengths >= shortest * median) & (lengths <= longest * median)
    trusted = usual & _largest_group(_signs(updates))
    if not trusted.any():
        trusted = usual
    with np.errstate(divide="ignore"):
        cut = np.minimum(1, median / lengths)
    cut[lengths == 0] = 1
    if weights is None:
        return Aggregate(updates.combine(cut * trusted / trusted.sum()), kept=trusted)
    return Aggregate(updates.combine(cut * reweighted(trusted, weights)), kept=trusted)


def _signs(rows: Rows) -> Array:
    """Shares of positive, zero and negative entries, shape (m, 3)."""
    counts = np.zeros((len(rows), 3))
    for _, block in rows.blocks(max(1024, _ENTRIES // len(rows))):
        positive = np.count_nonzero(block > 0, axis=1)
        negative = np.count_nonzero(block < 0, axis=1)
        counts += np.stack([positive, block.shape[1] - positive - negative, negative], axis=1)
    return counts / rows.dim


def _largest_group(features: Array) -> Mask:
    """The points around the densest place, by mean shift with a flat kernel from every point.

    The kernel reaches as far as the points' halfth-nearest neighbour on average.
    """
    apart = np.sort(cdist(features, features), axis=1)
    reach = apart[:, len(features) // 2].mean() * (1 + 1e-9)
    places = features
    for _ in range(_SHIFTS):
        near = cdist(places, features) <= reach
        moved = (near @ features) / np.maximum(near.sum(axis=1, keepdims=True), 1)
        if np.allclose(moved, places, atol=1e-12):
            break
        places = moved
    from_median = np.abs(places - np.median(features, axis=0)).sum(axis=1)
    return near[np.lexsort((from_median, -near.sum(axis=1)))[0]]
