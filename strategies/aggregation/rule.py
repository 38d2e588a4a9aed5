"""The one policy for what rows may be, around every aggregator.

- A row with an entry that is NaN, infinite or beyond 1e150 is removed before any result and counted
  in `removed`.
- A row far beyond the others, such as 1e30, counts as any outlier.
- Where float32 overflows, the rule is applied to the same rows in float64.
- An array without rows or columns, of anything but real numbers, or in which no row is usable, is a
  `ValueError`; so is a setting beyond its stated bounds.

float32 and float64 are computed in their own precision, anything else as float64. Inputs are never
changed. Entries below 1e-150 may count as 0. For what stands beside the rows, see
`side_information`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator, Memory
from tagma.strategies.aggregation.side_information import (
    NAMES,
    Given,
    checked,
    declared,
    prepared,
    restricted,
)
from tagma.strategies.numerics.parameter_validation import checker
from tagma.strategies.numerics.row_blocks import LARGEST, NotFiniteError, Rows, usable_rows

T = TypeVar("T")
TAKES_ROWS = "takes_rows"
"""Marks functions that accept `Rows` as well as arrays."""
_SMALL = 2**16
"""Entries that are looked at before the rule reads them."""


def rule(function: Callable[..., Aggregate]) -> Callable[..., Aggregate]:
    """Make an aggregator of arrays from a function of usable rows, with settings by keyword.

    Of what may stand beside the rows, the function is handed what it declares. It may be
    called twice: see `on_usable_rows`.
    """
    check = checker(function)
    takes = declared(function)

    def of_rows(rows: Rows, given: Given, settings: dict[str, Any]) -> Aggregate:
        m, used = len(rows), None
        if given:
            rows, given, used = prepared(rows, given)
        result = function(rows, **given, **settings)
        if rows.dtype == np.float32 and not _all_finite(result.estimate):
            rows.check()
            result = function(rows.in_double(), **given, **settings)
            result = replace(result, estimate=result.estimate.astype(np.float32))
        return result if used is None else of_all(result, m, used)

    @wraps(function)
    def aggregate(
        updates: Array | Rows,
        /,
        *,
        clients: Labels | None = None,
        weights: Array | None = None,
        reference: Array | None = None,
        memory: Memory | None = None,
        origin: Array | None = None,
        **settings: Any,
    ) -> Aggregate:
        check(settings)
        given: Given = {}
        offered = (clients, weights, reference, memory, origin)
        if any(value is not None for value in offered):
            named = zip(NAMES, offered, strict=True)
            given = {name: value for name, value in named if name in takes}
        if isinstance(updates, Rows):
            return of_rows(updates, checked(given, len(updates), updates.dim), settings)

        def of_usable(rows: Rows) -> Aggregate:
            if not given:
                return of_rows(rows, given, settings)
            own = restricted(checked(given, *rows.array.shape), rows.chosen)
            return of_rows(rows, own, settings)

        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rows, result = on_usable_rows(of_usable, updates)
        return without_removed(result, len(updates), rows.chosen)

    setattr(aggregate, TAKES_ROWS, True)
    return aggregate


def as_aggregator(function: Callable[..., Aggregate]) -> Aggregator:
    """An aggregator from any function of an array of rows, such as a plugin.

    Of what may stand beside the rows, it is handed what it declares, and None for what
    nobody gave. The rows are those that it is called with: they are not looked at.
    """
    if _takes_rows(function):
        return function
    takes = declared(function)

    def aggregate(
        rows: Array,
        /,
        *,
        clients: Labels | None = None,
        weights: Array | None = None,
        reference: Array | None = None,
        memory: Memory | None = None,
        origin: Array | None = None,
    ) -> Aggregate:
        offered = zip(NAMES, (clients, weights, reference, memory, origin), strict=True)
        given = {name: value for name, value in offered if name in takes}
        return function(rows, **checked(given, *np.shape(rows)))

    return aggregate


def apply(aggregate: Aggregator, rows: Rows, given: Given) -> Aggregate:
    """Aggregators of this package read rows block by block; others are given an array."""
    return aggregate(rows if _takes_rows(aggregate) else rows.dense(), **given)  # type: ignore[arg-type]


def _takes_rows(function: Callable[..., Aggregate]) -> bool:
    return hasattr(getattr(function, "func", function), TAKES_ROWS)


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
    """The aggregate in terms of all m rows, also those that took no part."""
    if chosen is None:
        return result
    kept, weights = result.kept, result.weights
    if kept is not None:
        kept = np.zeros(m, dtype=bool)
        kept[chosen] = result.kept
    if weights is not None:
        weights = np.zeros(m)
        weights[chosen] = result.weights
    return replace(result, kept=kept, weights=weights)


def without_removed(result: Aggregate, m: int, chosen: Labels | None) -> Aggregate:
    """The same, where the others were removed because they were not usable."""
    if chosen is None:
        return result
    return replace(of_all(result, m, chosen), removed=m - len(chosen))
