"""The geometric median of the rows (RFA; Pillutla et al., 2022)."""

from dataclasses import replace

import numpy as np

from strategies.aggregation.affine import Affine
from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.geometry import Geometry
from strategies.aggregation.passes import Passes, passes_over
from strategies.aggregation.rows import Rows
from strategies.aggregation.rule import watchful_rule
from strategies.aggregation.weiszfeld import Medians, geometric_medians

_ROUNDS, _LIMIT, _TOLERANCE = 20, 100, 1e-9
"""Steps shrink slowly in few dimensions: small ones are needed for an error of 1e-6."""
_NEAR = 1 / 16
"""A squared distance below this share of those from the origin is not known well enough in float32:
the direction of its pull would be off by more than 1e-6."""


_PER_PASS = 16
"""A Gram matrix costs as much as one pass for so many rows."""


@watchful_rule
def geometric_median(updates: Rows) -> Aggregate:
    """argmin_y sum_i ||x_i - y||, to about 1e-6 of the typical distance to the rows.

    Breakdown point 1/2, with an error that grows like sqrt(d). Does not depend on the coordinate
    system. Says how many iterations it took and why it stopped ("converged" or "iteration limit").
    Cost O(m d) for an iteration while they are few; then, and for few rows, O(m^2 d) for the Gram
    matrix, after which iterations do not depend on d. Where rows of float32 lie near their median,
    the Gram matrix is made in float64.
    """
    passes = passes_over(updates)
    start, near = None, False
    if passes is not None:
        found = _median(passes, rounds=1, limit=len(updates) // _PER_PASS, newton=False)
        converged = found.stopped == "converged"
        near = converged and _has_near_rows(passes, found)
        if converged and not near:
            return _aggregate(passes, found)
        start = found
    geometry = Geometry(updates, exact=near)
    found = _median(geometry, start)
    if _has_near_rows(geometry, found):
        geometry = Geometry(updates, exact=True)
        found = _median(geometry, found)
    return _aggregate(geometry, found)


def _median(
    points: Affine,
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
        found = geometric_medians(points, everyone, start, limit, _TOLERANCE, newton=newton)
        iterations += found.iterations
        if found.stopped == "converged":
            break
        start = found.weights
    return replace(found, iterations=iterations)


def _has_near_rows(points: Geometry | Passes, found: Medians) -> bool:
    """Whether some lie too near to the median for float32."""
    if points.exact:
        return False
    weights = found.weights[0]
    products = points.products(weights)
    sizes = points.squares + weights @ products
    return bool((sizes - 2 * products < _NEAR * sizes).any())


def _aggregate(points: Geometry | Passes, found: Medians) -> Aggregate:
    return Aggregate(
        points.combine(found.weights[0]),
        weights=found.weights[0],
        iterations=found.iterations,
        stopped=found.stopped,
    )
