"""Clipping: no row is longer than a given length."""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.arrays import Array
from tagma.strategies.aggregation.from_origin import marked
from tagma.strategies.aggregation.pre.pre_aggregator import pre_rule
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@marked
@pre_rule
def clipping(updates: Rows, *, radius: Annotated[float, Gt(0)] = 1.0) -> Array:
    """x_i <- x_i min(1, radius / ||x_i||). Bounds what one row can add to a mean. Cost O(m d)."""
    return clip_factors(norms(updates), radius)


def clip_factors(lengths: Array, radius: float) -> Array:
    """What rows of these lengths are multiplied by, shape (m,)."""
    return np.minimum(1, np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > 0))
