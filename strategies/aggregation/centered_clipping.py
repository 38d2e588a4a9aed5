"""Centered clipping (Karimireddy et al., 2021)."""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, Memory
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import most_central
from tagma.strategies.numerics.row_blocks import Rows

_CENTRE = "centre"
"""The one array of the memory: the aggregate of the round before."""


@rule
def centered_clipping(
    updates: Rows,
    *,
    radius: Annotated[float, Gt(0)] | None = None,
    steps: Annotated[int, Ge(1)] = 10,
    start: Literal["central", "previous"] = "central",
    weights: Array | None = None,
    memory: Memory | None = None,
) -> Aggregate:
    """Steps v <- v + sum_i w_i (x_i - v) min(1, radius / ||x_i - v||), `steps` of them.

    w_i = 1/m without weights. Starts from the row that is nearest to the nearer half of the others
    or, with `start="previous"` as in the paper, from the aggregate of the round before, which it
    remembers. A Byzantine client moves v by w_i radius per step at most; without a `radius` it is
    the median distance from v. Breakdown point 1/2. From a memory, the estimate is no average of
    the rows alone, so it states no weights. Cost O(m^2 d); the steps do not depend on d.
    """
    m = len(updates)
    before = None if start == "central" else _remembered(memory, updates.dim)
    geometry = Geometry(updates, origin=before)
    own = np.zeros(m) if before is not None else np.eye(1, m, most_central(geometry.pairwise()))[0]
    for _ in range(steps):
        lengths = np.sqrt(geometry.squared_distances(own))
        reach = float(np.median(lengths)) if radius is None else radius
        pulls = np.minimum(1, np.divide(reach, lengths, out=np.ones(m), where=lengths > 0))
        pulls = pulls / m if weights is None else pulls * weights
        own = (1 - pulls.sum()) * own + pulls
    estimate = geometry.combine(own)
    if start == "central":
        return Aggregate(estimate, weights=own)
    if before is None:
        return Aggregate(estimate, weights=own, memory={_CENTRE: estimate})
    estimate += ((1 - own.sum()) * before).astype(estimate.dtype)
    return Aggregate(estimate, memory={_CENTRE: estimate})


def _remembered(memory: Memory | None, dim: int) -> Array | None:
    if memory is None:
        return None
    centre = memory.get(_CENTRE)
    if centre is None or np.shape(centre) != (dim,) or not np.isfinite(centre).all():
        raise ValueError(f"memory: a finite array {_CENTRE!r} of shape ({dim},) is needed")
    return centre
