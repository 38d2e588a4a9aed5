"""The geometric median of the rows (RFA; Pillutla et al., 2022)."""

from dataclasses import replace

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.affine_combinations import Affine
from tagma.strategies.numerics.distance_passes import Passes, passes_over
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.weiszfeld import Medians, geometric_medians

_ROUNDS, _LIMIT, _TOLERANCE = 20, 100, 1e-9
"""Steps shrink slowly in few dimensions: small ones are needed for an error of 1e-6."""


@rule
def geometric_median(updates: Rows, *, weights: Array | None = None) -> Aggregate:
    """argmin_y sum_i w_i ||x_i - y||, to about 1e-6 of the typical distance to the rows.

    Breakdown point 1/2, of the weight, with an error that grows like sqrt(d). Does not depend on
    the coordinate system. Says how many iterations it took and why it stopped ("converged" or
    "iteration limit").
    Cost O(m d) for each iteration of many rows while these are few. For few rows, and where the
    iterations become many, O(m^2 d) for the Gram matrix, and nothing that depends on d after it.
    Where rows of float32 lie near their median, the Gram matrix is made again in float64.
    """
    passes = passes_over(updates)
    found = None
    if passes is not None:
        found = _median(passes, weights, rounds=1, limit=passes.limit, newton=False)
        if found.stopped == "converged" and passes.is_accurate(found.weights[0]):
            return _aggregate(passes, found)
    geometry = Geometry(updates)
    found = _median(geometry, weights, found)
    if not geometry.is_accurate(found.weights[0]):
        geometry = Geometry(updates, exact=True)
        found = _median(geometry, weights, found)
    return _aggregate(geometry, found)


def _median(
    points: Affine,
    masses: Array | None,
    before: Medians | None = None,
    *,
    rounds: int = _ROUNDS,
    limit: int = _LIMIT,
    newton: bool = True,
) -> Medians:
    """The median of all, from the weights found before; counts their iterations, too."""
    everyone = np.ones((1, len(points)), dtype=bool)
    start = None if before is None else before.weights
    iterations = 0 if before is None else before.iterations
    for _ in range(rounds):
        found = geometric_medians(
            points, everyone, start, limit, _TOLERANCE, newton=newton, masses=masses
        )
        iterations += found.iterations
        if found.stopped == "converged":
            break
        start = found.weights
    return replace(found, iterations=iterations)


def _aggregate(points: Geometry | Passes, found: Medians) -> Aggregate:
    return Aggregate(
        points.combine(found.weights[0]),
        weights=found.weights[0],
        iterations=found.iterations,
        stopped=found.stopped,
    )
