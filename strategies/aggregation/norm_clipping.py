"""Norm clipping with noise (Sun et al., 2019)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.rng import stream
from tagma.strategies.aggregation.aggregate import Aggregate, Memory
from tagma.strategies.aggregation.client_history import rounds_of
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@from_origin
@rule
def norm_clipping(
    updates: Rows,
    *,
    radius: Annotated[float, Gt(0)] | None = 3.0,
    noise: Annotated[float, Ge(0)] = 0.0,
    seed: Annotated[int, Ge(0)] = 0,
    weights: Array | None = None,
    memory: Memory | None = None,
) -> Aggregate:
    """The mean of the rows cut to length `radius`, and Gaussian noise of deviation `noise`.

    Without a `radius` it is the median length. A boosted update counts as one of length `radius`,
    so f of m clients move the mean by f radius / m at most; within that length anything passes. The
    noise of a round follows from `seed` and the number of rounds that it remembers. Breakdown
    point: none in direction; the bound holds for any number. Cost O(m d).
    """
    m = len(updates)
    shares = np.full(m, 1 / m) if weights is None else weights
    lengths = norms(updates)
    most = float(np.median(lengths)) if radius is None else radius
    estimate = updates.combine(shares * clip_factors(lengths, most))
    return with_noise(Aggregate(estimate), noise, seed, memory)


def with_noise(found: Aggregate, deviation: float, seed: int, memory: Memory | None) -> Aggregate:
    """The same with noise of its own for every round; none, and no memory, for deviation 0."""
    if not deviation:
        return found
    rounds, d = rounds_of(memory), len(found.estimate)
    drawn = deviation * stream(seed, "noise on the aggregate", rounds).standard_normal(d)
    estimate = np.add(found.estimate, drawn, dtype=found.estimate.dtype, casting="same_kind")
    return Aggregate(estimate, kept=found.kept, memory={"rounds": np.array([rounds + 1.0])})
