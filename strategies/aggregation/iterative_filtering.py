"""Iterative filtering as a stage III (Yin et al., 2019): the paper's choice for high dimension."""

from typing import Annotated

from annotated_types import Ge, Gt, Lt

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.spectral_filter import spectral_filter
from strategies.clustering.scale import estimate_scale
from tagma.arrays import Array


def iterative_filtering(
    updates: Array,
    *,
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
    sigma: Annotated[float, Gt(0)] | None = None,
) -> Aggregate:
    """Mean of the rows that the spectral filter keeps.

    `sigma` is the noise of the rows' entries, estimated from them if not given; in one or two
    dimensions the estimate is low, and some honest rows are lost. Breakdown point min(removable,
    1/2): `removable` must exceed the Byzantine fraction of the worst cluster. The result tells
    which rows were kept, how many times rows were removed, and why that ended ("within the bound"
    or "removal limit"). Cost O(m^2 d) for the estimate, from 2000 rows at most, and the filter's
    own.
    """
    if sigma is None:
        sigma = estimate_scale(updates, k=1, assumed_fraction=min(removable, 0.5))
    result = spectral_filter(updates, sigma=sigma, factor=factor, removable=removable)
    return Aggregate(
        result.estimate, kept=result.kept, iterations=result.iterations, stopped=result.stopped
    )
