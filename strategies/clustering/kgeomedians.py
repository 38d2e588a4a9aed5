"""K-geomedians: Lloyd with the geometric median as the centre (Algorithm 2 without its ball)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.lloyd import Centres, lloyd
from tagma.strategies.clustering.weighted_centres import Points
from tagma.strategies.numerics.byzantine_count import Fraction
from tagma.strategies.numerics.weiszfeld import geometric_medians


@of_finite_points
def kgeomedians(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
) -> Clustering:
    """Breakdown point 1/2 of every cluster, with an error that grows like sqrt(d)."""
    return lloyd(
        vectors, initial, geomedian_centres,
        k=k, iterations=iterations, fraction=fraction,
    )  # fmt: skip


def geomedian_centres(points: Points, members: Mask) -> Centres:
    """The geometric median of every cluster."""
    medians = geometric_medians(points, members)
    return Centres(medians.weights, within=np.ones_like(members))
