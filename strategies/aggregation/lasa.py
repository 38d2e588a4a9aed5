"""LASA (Xu et al., 2025): usual rows of every layer, by lengths and signs."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, reweighted
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@from_origin
@rule
def lasa(
    updates: Rows,
    *,
    sparsity: Annotated[float, Ge(0), Lt(1)] = 0.3,
    norm_bound: Annotated[float, Gt(0)] = 2.0,
    sign_bound: Annotated[float, Gt(0)] = 1.0,
    layers: Sequence[int] | None = None,
    weights: Array | None = None,
) -> Aggregate:
    """In every layer, the mean of the rows of usual length and signs, cut to the median length.

    Judged are the largest 1 - `sparsity` of a row's entries: in each layer, their length and the
    share of positive ones among them must lie within `norm_bound` and `sign_bound` standard
    deviations of the median; where no row does both, all count. `layers` are the numbers of entries
    of the model's arrays, in their order, which a run knows; without them the whole row is one.
    Breakdown point 1/2 in length; in direction, none is proven. Cost O(m d).
    """
    lengths = norms(updates)
    cut = clip_factors(lengths, float(np.median(lengths)))
    sizes = [updates.dim] if layers is None else list(layers)
    if sum(sizes) != updates.dim or min(sizes) < 0:
        raise ValueError(f"layers: must sum to the {updates.dim} entries of a row")
    least = _least_that_count(updates, sparsity)
    estimate, kept = np.empty(updates.dim, updates.dtype), np.zeros(len(updates), dtype=bool)
    start = 0
    for size in sizes:
        if not size:
            continue
        block = updates.block(start, start + size)
        chosen = _usual(*_features(block, least, lengths), norm_bound, sign_bound)
        shares = chosen / chosen.sum() if weights is None else reweighted(chosen, weights)
        own = (shares * cut).astype(updates.dtype)
        estimate[start : start + size] = own[chosen] @ block[chosen]
        kept |= chosen
        start += size
    return Aggregate(estimate, kept=kept)


def _least_that_count(updates: Rows, sparsity: float) -> Array:
    """For every row, the largest size of those of its entries that do not count, shape (m,)."""
    dropped = int(sparsity * updates.dim)
    if not dropped:
        return np.full(len(updates), -1.0)
    rows = (updates.take(np.array([row])).block(0, updates.dim)[0] for row in range(len(updates)))
    return np.array([np.partition(np.abs(row), dropped - 1)[dropped - 1] for row in rows])


def _features(block: Array, least: Array, lengths: Array) -> tuple[Array, Array]:
    """Of the entries that count, their lengths and the purity of their signs."""
    size = np.abs(block)
    counts = size > least[:, None]
    scale = np.where(lengths > 0, lengths, 1.0)
    squares = np.square(np.where(counts, size, 0) / scale[:, None])
    long = lengths * np.sqrt(squares.sum(axis=1, dtype=np.float64))
    positive = np.count_nonzero(counts & (block > 0), axis=1)
    negative = np.count_nonzero(counts & (block < 0), axis=1)
    purity = (positive - negative) / np.maximum(positive + negative, 1)
    return long, purity


def _usual(long: Array, purity: Array, norm_bound: float, sign_bound: float) -> Mask:
    chosen = (_from_median(long) < norm_bound) & (_from_median(purity) < sign_bound)
    return chosen if chosen.any() else np.ones(len(chosen), dtype=bool)


def _from_median(values: Array) -> Array:
    """How many standard deviations from the median; 0 where all are the same."""
    largest = float(np.abs(values).max())
    if not largest > 0:
        return np.zeros_like(values)
    values = values / largest
    apart = np.abs(values - np.median(values))
    deviation = float(values.std())
    return apart / deviation if deviation > 1e-12 else np.zeros_like(apart)
