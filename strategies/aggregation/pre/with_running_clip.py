"""Clipping at the usual length, before any aggregator: for changes of models."""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator, Memory
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.rule import apply, as_aggregator, rule
from tagma.strategies.aggregation.side_information import Given
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms

_ENOUGH = 6
"""So many rows show by themselves how long most are."""
_REMEMBERED = 50
_LENGTHS = "lengths"
"""The array of the memory beside those of the aggregator."""


def with_running_clip(aggregate: Aggregator) -> Aggregator:
    """The same aggregation of rows that are cut to their median length.

    Of fewer than six rows, to the median of the last 50 that there were, which is remembered: a
    sampled round brings two or three of a cluster, and of these one may be Byzantine. Rows should
    be changes of one model, by the same training. Breakdown point: that of `aggregate`; no row
    moves a mean of n of them by more than the usual length over n, while most of the last ones were
    honest. Cost O(m d), and that of `aggregate`.
    """
    aggregate = as_aggregator(aggregate)

    @rule
    def of_the_clipped(
        updates: Rows,
        *,
        clients: Labels | None = None,
        weights: Array | None = None,
        reference: Array | None = None,
        memory: Memory | None = None,
    ) -> Aggregate:
        lengths, before = norms(updates), dict(memory or {})
        known = np.append(_remembered(before.pop(_LENGTHS, None)), lengths)[-_REMEMBERED:]
        usual = float(np.median(lengths if len(lengths) >= _ENOUGH else known))
        given: Given = {
            "clients": clients, "weights": weights, "reference": reference,
            "memory": before or None,
        }  # fmt: skip
        found = apply(aggregate, updates.mixed(clip_factors(lengths, usual)), given)
        after = {**(found.memory or {}), _LENGTHS: known}
        return Aggregate(found.estimate, kept=found.kept, memory=after)

    return of_the_clipped


def _remembered(lengths: Array | None) -> Array:
    if lengths is None:
        return np.empty(0)
    if lengths.ndim != 1 or len(lengths) > _REMEMBERED or not (lengths >= 0).all():
        raise ValueError(f"memory: {_LENGTHS!r} must be up to {_REMEMBERED} lengths")
    return lengths
