"""The one policy for what rows may be, around every aggregator.

- A row with a NaN or an infinity is removed before any result and counted in `removed`.
- Finite rows never give a result that is not: where a sum overflows, the rule is applied again to
  rows scaled down by a power of two, and its estimate is scaled up.
- A row far beyond the others, such as 1e30, counts as any outlier: see `Geometry` for the rules
  that measure distances; the coordinate-wise ones sort and do not care how far it is.
- An array without rows or columns, of anything but real numbers, or in which no row is finite, is a
  `ValueError`; so is a setting beyond its stated bounds.

float32 and float64 are computed in their own precision, anything else as float64. Inputs are never
changed.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from math import isfinite
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator
from tagma.strategies.numerics.row_blocks import NotFiniteError, Rows, enlarge, row_sums
from tagma.strategies.numerics.setting_bounds import checker

P = ParamSpec("P")
T = TypeVar("T")
TAKES_ROWS = "takes_rows"
"""Marks functions that accept `Rows` as well as arrays."""
_WIDTH = 2**16


def rule(
    function: Callable[Concatenate[Rows, P], Aggregate],
) -> Callable[Concatenate[Array, P], Aggregate]:
    """Make an aggregator of arrays from one of finite rows."""
    return _rule(function, finite_rows)


def watchful_rule(
    function: Callable[Concatenate[Rows, P], Aggregate],
) -> Callable[Concatenate[Array, P], Aggregate]:
    """The same for one that notices entries that are not finite by itself, as `Geometry` does.

    It raises a `NotFiniteError` where there may be any, which saves a pass over the rows.
    """
    return _rule(function, unchecked_rows)


def coordinate_rule(
    function: Callable[Concatenate[Rows, P], Aggregate],
) -> Callable[Concatenate[Array, P], Aggregate]:
    """The same for one that reads all rows by `by_columns` and nothing else.

    It looks for entries that are not finite as it reads, which saves a pass over the rows.
    """
    with_care = _rule(function, unchecked_rows)
    check = checker(function)

    @wraps(with_care)
    def aggregate(updates: Array, /, *args: P.args, **settings: P.kwargs) -> Aggregate:
        check(settings)
        if _small_and_calm(updates):
            return function(Rows(updates), *args, **settings)
        return with_care(updates, *args, **settings)

    return aggregate


def _rule(
    function: Callable[Concatenate[Rows, P], Aggregate], read: Callable[[Array], Rows]
) -> Callable[Concatenate[Array, P], Aggregate]:
    check = checker(function)

    @wraps(function)
    def aggregate(updates: Array, /, *args: P.args, **settings: P.kwargs) -> Aggregate:
        check(settings)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rows, result = on_finite(lambda rows: function(rows, *args, **settings), updates, read)
            if not _all_finite(result.estimate):
                result = _again_smaller(lambda small: function(small, *args, **settings), rows)
        return _of_all(result, updates, rows.chosen)

    setattr(aggregate, TAKES_ROWS, True)
    return aggregate


def apply(aggregate: Aggregator, rows: Rows) -> Aggregate:
    """Aggregators of this package read rows block by block; others are given an array."""
    lazily = hasattr(getattr(aggregate, "func", aggregate), TAKES_ROWS)
    return aggregate(rows if lazily else rows.dense())  # type: ignore[arg-type]


def on_finite(
    function: Callable[[Rows], T], updates: Array, read: Callable[[Array], Rows]
) -> tuple[Rows, T]:
    """The rows as `read` gives them and what the function makes of them.

    Where it finds that they may not be finite, those that are and what it makes of these.
    """
    rows = read(updates)
    try:
        return rows, function(rows)
    except NotFiniteError:
        finite = finite_rows(updates)
        return finite, function(finite)


def unchecked_rows(updates: Array | Rows) -> Rows:
    """Rows that may not be finite, unless they are few; whoever reads them has to look."""
    if isinstance(updates, Rows):
        return updates
    array = _as_floats(updates)
    return finite_rows(array) if array.size <= _WIDTH else Rows(array, checked=False)


def _small_and_calm(updates: Array | Rows) -> bool:
    """Whether nothing can go wrong with averages of the rows, found at next to no cost.

    A finite sum of squares has finite terms, and no sum of the terms themselves overflows.
    """
    return (
        type(updates) is np.ndarray
        and updates.ndim == 2
        and updates.dtype.char in "fd"
        and 0 < updates.size <= _WIDTH
        and isfinite(np.vdot(updates, updates))  # which does not warn, unlike other products
    )


def finite_rows(updates: Array | Rows) -> Rows:
    """The finite rows of an array of shape (m, d)."""
    if isinstance(updates, Rows):
        return updates
    array = _as_floats(updates)
    if array.size <= _WIDTH and _all_finite(array):
        return Rows(array)
    finite = _finite(array)
    if finite.all():
        return Rows(array)
    if not finite.any():
        raise ValueError("no row is finite")
    return Rows(array, chosen=np.flatnonzero(finite))


def _as_floats(updates: Array) -> Array:
    array = np.asarray(updates)
    if array.dtype.kind not in "biuf" or np.ma.isMaskedArray(updates):
        raise ValueError(f"rows of real numbers are needed, not {_kind(updates)}")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"rows of shape (m, d) with m, d >= 1 are needed, not {array.shape}")
    return array if array.dtype.char in "fd" else array.astype(np.float64)


def _kind(updates: Array) -> str:
    return "a masked array" if np.ma.isMaskedArray(updates) else str(np.asarray(updates).dtype)


def _all_finite(array: Array) -> bool:
    """By the sum of squares, unless it overflows: a third of the cost of looking at each entry."""
    return isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def _finite(array: Array) -> Mask:
    """Which rows are finite.

    The sum of a row with a NaN or an infinity is not finite; it costs half of what the mean of the
    rows does. Other sums that are not finite have overflowed: those rows are looked at closely.
    """
    finite = np.ones(len(array), dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in Rows(array).blocks(_WIDTH):
            finite &= np.isfinite(row_sums(block))
    for row in np.flatnonzero(~finite):
        finite[row] = all(
            np.isfinite(b).all() for _, b in Rows(array[row : row + 1]).blocks(_WIDTH)
        )
    return finite


def _again_smaller(apply: Callable[[Rows], Aggregate], rows: Rows) -> Aggregate:
    scale = 2.0 ** -(len(rows).bit_length() + 2)
    result = apply(replace(rows, scale=rows.scale * scale, checked=True))
    enlarge(result.estimate, scale)
    return result


def _of_all(result: Aggregate, updates: Array | Rows, chosen: Labels | None) -> Aggregate:
    return result if isinstance(updates, Rows) else of_all(result, len(updates), chosen)


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
