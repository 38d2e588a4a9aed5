"""K-trimmed-means: Lloyd with the coordinate-wise trimmed mean as the centre."""

from functools import partial
from typing import Annotated

from annotated_types import Ge, Lt

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.trimmed_mean import trimmed_mean
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.coordinate_centres import Coordinates, aggregate_centres
from tagma.strategies.clustering.lloyd import lloyd
from tagma.strategies.numerics.byzantine_count import Fraction


@of_finite_points
def ktrimmed_means(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
    beta: Annotated[float, Ge(0), Lt(0.5)],
) -> Clustering:
    """Breakdown point `beta` of every cluster, with an error that grows like sqrt(d).

    `beta` is the share dropped from each side of every coordinate: 0 is plain K-means, values near
    1/2 are K-medians. Depends on the coordinate system as K-medians does. Cost O(R m K d + R m d
    log m) per iteration for R restarts.
    """
    return lloyd(
        vectors, initial, aggregate_centres(partial(trimmed_mean, beta=beta)), space=Coordinates,
        k=k, iterations=iterations, fraction=fraction,
    )  # fmt: skip
