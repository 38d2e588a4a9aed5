"""The geometric median of the rows (RFA; Pillutla et al., 2022)."""

import numpy as np

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.geometry import Geometry
from strategies.aggregation.rows import Rows
from strategies.aggregation.rule import rule
from strategies.aggregation.weiszfeld import geometric_medians


@rule
def geometric_median(updates: Rows) -> Aggregate:
    """argmin_y sum_i ||x_i - y||, to a relative accuracy of about 1e-6.

    Breakdown point 1/2, with an error that grows like sqrt(d). Does not depend on the coordinate
    system. Cost O(m^2 d) for the Gram matrix; the iterations do not depend on d.
    """
    geometry = Geometry(updates)
    weights = geometric_medians(geometry, np.ones((1, len(updates)), dtype=bool)).weights[0]
    return Aggregate(geometry.combine(weights), weights=weights)
