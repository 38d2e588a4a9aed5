"""The geometric median of the rows (RFA; Pillutla et al., 2022)."""

from dataclasses import replace

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.affine_combinations import Affine
from tagma.strategies.numerics.distance_passes import Passes, passes_over
from tagma.strategies.numerics.gram_matrix import Geometry, middle_of_some
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.weiszfeld import Medians, geometric_medians

_ROUNDS, _LIMIT, _TOLERANCE = 20, 100, 1e-9
"""Steps shrink slowly in few dimensions: small ones are needed for an error of 1e-6."""
_FEW = 2**14
"""Up to this many entries, steps in coordinates cost less than a Gram matrix and steps in it."""
_ERROR, _STEP = 1e-8, 1e-7
"""In units of the typical distance: of what is left, as steps shrink, and of the last step."""


@rule
def geometric_median(updates: Rows, *, weights: Array | None = None) -> Aggregate:
    """argmin_y sum_i w_i ||x_i - y||, to about 1e-6 of the typical distance to the rows.

    Breakdown point 1/2, of the weight, with an error that grows like sqrt(d). Does not depend on
    the coordinate system. Says how many iterations it took and why it stopped ("converged" or
    "iteration limit").
    Cost O(m d) for each iteration of few entries, and of many rows while iterations are few. For
    few rows of many entries, and where the
    iterations become many, O(m^2 d) for the Gram matrix, and nothing that depends on d after it.
    Where rows of float32 lie near their median, the Gram matrix is made again in float64.
    """
    found = None
    if len(updates) * updates.dim <= _FEW:
        estimate, found = _in_coordinates(updates.dense(), weights)
        if found.stopped == "converged":
            return Aggregate(
                estimate.astype(updates.dtype),
                weights=found.weights[0],
                iterations=found.iterations,
                stopped=found.stopped,
            )
    passes = passes_over(updates)
    if passes is not None:
        found = _median(passes, weights, found, rounds=1, limit=passes.limit, newton=False)
        if found.stopped == "converged" and passes.is_accurate(found.weights[0]):
            return _aggregate(passes, found)
    geometry = Geometry(updates)
    found = _median(geometry, weights, found)
    if not geometry.is_accurate(found.weights[0]):
        geometry = Geometry(updates, exact=True)
        found = _median(geometry, weights, found)
    return _aggregate(geometry, found)


def _in_coordinates(rows: Array, masses: Array | None) -> tuple[Array, Medians]:
    """Weiszfeld's iteration as it is written down, in float64, until it converges or is slow.

    Rows are taken around the median of five of them. It is given up where it meets a row, and
    begins where `geometric_medians` does.
    """
    rows = rows.astype(np.float64, copy=False)
    centre = middle_of_some(rows)
    rows = rows - centre
    everyone = np.ones(len(rows)) if masses is None else masses
    mass = everyone.sum()
    squared = np.einsum("ij,ij->i", rows, rows)
    lengths = np.sqrt(squared)
    pulls = everyone / np.maximum(lengths, 1e-3 * np.median(lengths) or 1.0)
    weights = pulls / pulls.sum()
    at, before = weights @ rows, np.inf
    for iteration in range(1, _ROUNDS + 1):
        apart = rows - at
        squared = np.einsum("ij,ij->i", apart, apart)
        if not squared.min() > 0:
            return centre + at, Medians(weights[None], iteration, "iteration limit")
        pulls = everyone / np.sqrt(squared)
        total = pulls.sum()
        weights = pulls / total
        moved = weights @ rows
        step = moved - at
        at, length, scale = moved, float(np.sqrt(step @ step)), mass / total
        # Steps that shrink by the same factor each leave length^2 / (before - length) to go.
        if length <= _STEP * scale and length**2 <= _ERROR * scale * (before - length):
            return centre + at, Medians(weights[None], iteration, "converged")
        before = length
    return centre + at, Medians(weights[None], _ROUNDS, "iteration limit")


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
