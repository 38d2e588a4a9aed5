"""Centered clipping (Karimireddy et al., 2021)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import most_central
from tagma.strategies.numerics.row_blocks import Rows


@rule
def centered_clipping(
    updates: Rows,
    *,
    radius: Annotated[float, Gt(0)] | None = None,
    steps: Annotated[int, Ge(1)] = 10,
) -> Aggregate:
    """Steps v <- v + (1/m) sum_i (x_i - v) min(1, radius / ||x_i - v||), `steps` of them.

    Starts from the row that is nearest to the nearer half of the others, as a rule without memory
    has no previous aggregate. A Byzantine client moves v by radius / m per step at most; without a
    `radius` it is the median distance from v. Breakdown point 1/2. Cost O(m^2 d); the steps do not
    depend on d.
    """
    m = len(updates)
    geometry = Geometry(updates)
    weights = np.eye(1, m, most_central(geometry.pairwise()))[0]
    for _ in range(steps):
        lengths = np.sqrt(geometry.squared_distances(weights))
        reach = float(np.median(lengths)) if radius is None else radius
        pulls = np.minimum(1, np.divide(reach, lengths, out=np.ones(m), where=lengths > 0)) / m
        weights = (1 - pulls.sum()) * weights + pulls
    return Aggregate(geometry.combine(weights), weights=weights)
