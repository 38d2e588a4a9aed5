"""Iterative filtering as a stage III (Yin et al., 2019): the paper's choice for high dimension."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate, reweighted
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.noise_scale import estimate_scale, scale_of
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.spectral_filter import filter_subset
from tagma.strategies.numerics.top_eigenpair import Spread


@rule
def iterative_filtering(
    updates: Rows,
    *,
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
    sigma: Annotated[float, Gt(0)] | None = None,
    weights: Array | None = None,
) -> Aggregate:
    """Mean of the rows that the spectral filter keeps.

    `sigma` is the noise of the rows' entries, estimated from them if not given; in one or two
    dimensions the estimate is low, and some honest rows are lost. Breakdown point min(removable,
    1/2): `removable` must exceed the Byzantine fraction of the worst cluster. The result says
    which rows were kept, how many times rows were removed, and why that ended ("within the bound"
    or "removal limit"). Cost O(m^2 d), and the filter's own. With more than 500 rows, or more rows
    than columns, it works on a copy of them.
    """
    spread = Spread(updates)
    if sigma is None:
        assumed = min(removable, 0.5)
        if spread.geometry is None:
            sigma = estimate_scale(updates.dense(), k=1, fraction=assumed)
        else:
            sigma = scale_of(spread.geometry, updates.dim, k=1, fraction=assumed)
    result = filter_subset(
        updates, spread, np.arange(len(updates)),
        sigma=sigma, factor=factor, removable=removable,
    )  # fmt: skip
    kept, estimate = result.kept, result.estimate
    own = kept / kept.sum() if weights is None else reweighted(kept, weights)
    return Aggregate(
        estimate if weights is None else updates.combine(own),
        kept=kept,
        weights=own,
        iterations=result.iterations,
        stopped=result.stopped,
    )
