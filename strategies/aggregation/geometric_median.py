"""The geometric median of the rows (RFA; Pillutla et al., 2022)."""

from dataclasses import replace

import numpy as np

from strategies.aggregation.aggregate import Aggregate
from strategies.aggregation.geometry import Geometry
from strategies.aggregation.rows import Rows
from strategies.aggregation.rule import watchful_rule
from strategies.aggregation.weiszfeld import Medians, geometric_medians
from tagma.arrays import Array

_ROUNDS, _LIMIT, _TOLERANCE = 20, 100, 1e-9
"""Steps shrink slowly in few dimensions: small ones are needed for an error of 1e-6."""
_NEAR = 1 / 16
"""A squared distance below this share of those from the origin is not known well enough in float32:
the direction of its pull would be off by more than 1e-6."""


@watchful_rule
def geometric_median(updates: Rows) -> Aggregate:
    """argmin_y sum_i ||x_i - y||, to about 1e-6 of the typical distance to the rows.

    Breakdown point 1/2, with an error that grows like sqrt(d). Does not depend on the coordinate
    system. Says how many iterations it took and why it stopped ("converged" or "iteration limit").
    Cost O(m^2 d) for the Gram matrix; the iterations do not depend on d. Where rows of float32 lie
    near their median, the Gram matrix is made again in float64.
    """
    geometry = Geometry(updates)
    found = _median(geometry)
    if not geometry.exact and _has_near_rows(geometry, found.weights[0]):
        geometry = Geometry(updates, exact=True)
        found = _median(geometry)
    return Aggregate(
        geometry.combine(found.weights[0]),
        weights=found.weights[0],
        iterations=found.iterations,
        stopped=found.stopped,
    )


def _median(geometry: Geometry) -> Medians:
    everyone = np.ones((1, len(geometry)), dtype=bool)
    start, iterations = None, 0
    for _ in range(_ROUNDS):
        found = geometric_medians(geometry, everyone, start, limit=_LIMIT, tolerance=_TOLERANCE)
        iterations += found.iterations
        if found.stopped == "converged":
            break
        start = found.weights
    return replace(found, iterations=iterations)


def _has_near_rows(geometry: Geometry, weights: Array) -> bool:
    products = geometry.products(weights)
    sizes = geometry.squares + weights @ products
    return bool((sizes - 2 * products < _NEAR * sizes).any())
