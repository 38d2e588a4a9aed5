"""The geometric median of points, as stage II uses it: argmin_y sum_i ||p_i - y||."""

import numpy as np

from strategies.aggregation.weiszfeld import geometric_medians
from strategies.clustering.points import Points
from tagma.arrays import Array

__all__ = ["geometric_median", "geometric_medians"]


def geometric_median(points: Array) -> Array:
    """The geometric median of the rows of an (m, d) array."""
    everything = Points(points)
    medians = geometric_medians(everything, np.ones((1, len(points)), dtype=bool))
    return everything.combine(medians.weights)[0]
