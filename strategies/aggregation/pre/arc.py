"""Adaptive robust clipping (Allouah et al., 2025)."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.from_origin import marked
from tagma.strategies.aggregation.pre.clipping import clip_factors
from tagma.strategies.aggregation.pre.pre_aggregator import pre_rule
from tagma.strategies.numerics.byzantine_count import Fraction, byzantine_count
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@marked
@pre_rule
def arc(updates: Rows, *, fraction: Fraction) -> Array:
    """The floor(2 f (m - f) / m) longest rows are cut to the length of the next one.

    f = floor(fraction m). Like clipping, but with a radius that follows from the rows, so that an
    aggregator keeps its guarantees. Cost O(m d).
    """
    m = len(updates)
    f = byzantine_count(fraction, m, (m - 1) // 2)
    lengths = norms(updates)
    return clip_factors(lengths, float(np.sort(lengths)[m - 1 - 2 * f * (m - f) // m]))
