"""Adaptive robust clipping (Allouah et al., 2025)."""

import numpy as np

from strategies.aggregation.clipping import clip_factors
from strategies.aggregation.liars import Fraction, count
from strategies.aggregation.mixing import pre_rule
from strategies.aggregation.norms import norms
from strategies.aggregation.rows import Rows
from tagma.arrays import Array


@pre_rule
def arc(updates: Rows, *, fraction: Fraction) -> Array:
    """The floor(2 f (m - f) / m) longest rows are cut to the length of the next one.

    f = floor(fraction m). Like clipping, but with a radius that follows from the rows, so that an
    aggregator keeps its guarantees. Cost O(m d).
    """
    m = len(updates)
    f = count(fraction, m, (m - 1) // 2)
    lengths, _ = norms(updates)
    return clip_factors(lengths, float(np.sort(lengths)[m - 1 - 2 * f * (m - f) // m]))
