"""K-medians: Lloyd with the coordinate-wise median as the centre."""

from typing import Annotated

from annotated_types import Ge

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.median import median
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.coordinate_centres import Coordinates, aggregate_centres
from tagma.strategies.clustering.lloyd import lloyd
from tagma.strategies.numerics.byzantine_count import Fraction


@of_finite_points
def kmedians(
    vectors: Array,
    initial: Labels,
    *,
    k: Annotated[int, Ge(1)],
    iterations: Annotated[int, Ge(1)],
    fraction: Fraction,
) -> Clustering:
    """Breakdown point 1/2 of every cluster, with an error that grows like sqrt(d).

    Assumes nothing about the noise, but depends on the coordinate system: rotated vectors may give
    other clusters. Cost O(R m K d) per iteration for R restarts.
    """
    return lloyd(
        vectors, initial, aggregate_centres(median), space=Coordinates,
        k=k, iterations=iterations, fraction=fraction,
    )  # fmt: skip
