"""The one policy for what rows may be, around every aggregator.

- A row with an entry that is NaN, infinite or beyond 1e150 is removed before any result and counted
  in `removed`.
- A row far beyond the others, such as 1e30, counts as any outlier.
- Where float32 overflows, the rule is applied to the same rows in float64.
- An array without rows or columns, of anything but real numbers, or in which no row is usable, is a
  `ValueError`; so is a setting beyond its stated bounds.

float32 and float64 are computed in their own precision, anything else as float64. Inputs are never
changed. Entries below 1e-150 may count as 0.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from math import isfinite
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator
from tagma.strategies.numerics.parameter_validation import checker
from tagma.strategies.numerics.row_blocks import LARGEST, NotFiniteError, Rows, usable_rows

P = ParamSpec("P")
T = TypeVar("T")
TAKES_ROWS = "takes_rows"
"""Marks functions that accept `Rows` as well as arrays."""
_SMALL = 2**16
"""Entries that are looked at before the rule reads them."""


def rule(
    function: Callable[Concatenate[Rows, P], Aggregate],
) -> Callable[Concatenate[Array, P], Aggregate]:
    """Make an aggregator of arrays from one of usable rows.

    The function may be called twice: see `on_usable_rows`.
    """
    check = checker(function)

    def of_rows(rows: Rows, *args: P.args, **settings: P.kwargs) -> Aggregate:
        result = function(rows, *args, **settings)
        if rows.dtype == np.float32 and not _all_finite(result.estimate):
            rows.check()
            result = function(rows.in_double(), *args, **settings)
            return replace(result, estimate=result.estimate.astype(np.float32))
        return result

    @wraps(function)
    def aggregate(updates: Array | Rows, /, *args: P.args, **settings: P.kwargs) -> Aggregate:
        check(settings)
        if isinstance(updates, Rows):
            return of_rows(updates, *args, **settings)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rows, result = on_usable_rows(lambda rows: of_rows(rows, *args, **settings), updates)
        return of_all(result, len(updates), rows.chosen)

    setattr(aggregate, TAKES_ROWS, True)
    return aggregate


def apply(aggregate: Aggregator, rows: Rows) -> Aggregate:
    """Aggregators of this package read rows block by block; others are given an array."""
    lazily = hasattr(getattr(aggregate, "func", aggregate), TAKES_ROWS)
    return aggregate(rows if lazily else rows.dense())  # type: ignore[arg-type]


def on_usable_rows(function: Callable[[Rows], T], updates: Array) -> tuple[Rows, T]:
    """The usable rows of an array and what the function makes of them.

    Mostly these are all. So the function is given all of a large array first: `Geometry`, `norms`
    and `by_columns` notice others at next to no cost, and raise a `NotFiniteError`. What none of
    them has read is looked at afterwards.
    """
    array = as_floats(updates)
    rows = Rows(array, checked=array.size <= _SMALL and _squares_are_small(array))
    try:
        result = function(rows)
        rows.check()
    except NotFiniteError:
        rows = usable_rows(array)
        result = function(rows)
    return rows, result


def as_floats(updates: Array) -> Array:
    """An array of shape (m, d) in float32 or float64."""
    array = np.asarray(updates)
    if array.dtype.kind not in "biuf" or np.ma.isMaskedArray(updates):
        kind = "a masked array" if np.ma.isMaskedArray(updates) else array.dtype
        raise ValueError(f"rows of real numbers are needed, not {kind}")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"rows of shape (m, d) with m, d >= 1 are needed, not {array.shape}")
    return array if array.dtype.char in "fd" else array.astype(np.float64)


def _squares_are_small(array: Array) -> bool:
    """Whether the sum of squares says that all entries are usable."""
    return float(np.vdot(array, array)) <= LARGEST**2


def _all_finite(array: Array) -> bool:
    """By the sum of squares, unless it overflows: a third of the cost of looking at each entry."""
    return isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def of_all(result: Aggregate, m: int, chosen: Labels | None) -> Aggregate:
    """The aggregate in terms of all m rows, also those that were removed."""
    if chosen is None:
        return result
    kept, weights = result.kept, result.weights
    if kept is not None:
        kept = np.zeros(m, dtype=bool)
        kept[chosen] = result.kept
    if weights is not None:
        weights = np.zeros(m)
        weights[chosen] = result.weights
    return replace(result, kept=kept, weights=weights, removed=m - len(chosen))
