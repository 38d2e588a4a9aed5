"""Weighted medians and trimmed means of every column.

Blocks of columns are transposed and sorted together with their weights, which are shares: positive
numbers that sum to 1. A value at an edge of what counts enters with the part of its weight that is
inside. Sums of weights within 1e-9 of an edge are taken to be on it, so that weights in different
units give the same, and nothing of a huge value beyond the edge is left by rounding.

The values stay in their own precision; the weights are of float64. Cost O(d m log m), some times
that of `column_trimmed_mean`, as the order of the values is needed, too.
"""

from collections.abc import Callable

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.kernels.transpose import transpose
from tagma.strategies.numerics.row_blocks import Kernel, Rows, by_columns

_BYTES = 2**20
"""Of a transposed block in float64."""
_ROUNDING = 1e-9


def weighted_median(rows: Rows, weights: Array) -> Array:
    """Per column, the value at which the sum of the weights passes one half.

    Where it is one half exactly, the mean of the value and the next.
    """

    def finish(values: Array, sums: Array, out: Array) -> None:
        out[:] = _median(values, sums)

    return _sorted_with_sums(rows, weights, finish)


def weighted_trimmed_mean(rows: Rows, weights: Array, trimmed: float) -> Array:
    """Per column, the mean without the share `trimmed` of the weight, below 1/2, on each side."""
    if trimmed == 0:
        return rows.combine(weights)

    def finish(values: Array, sums: Array, out: Array) -> None:
        _mean_between(values, sums, trimmed, 1 - trimmed, out)

    return _sorted_with_sums(rows, weights, finish)


def weighted_mean_near_median(rows: Rows, weights: Array, share: float) -> Array:
    """Per column, the mean of this share of the weight, of the values nearest to the median.

    Of two values that are equally near, the smaller counts first.
    """

    def finish(values: Array, sums: Array, out: Array) -> None:
        own = np.diff(sums, axis=1, prepend=0)
        order = np.abs(values - _median(values, sums)[:, None]).argsort(axis=1, kind="stable")
        nearest = np.take_along_axis(values, order, axis=1)
        sums = np.take_along_axis(own, order, axis=1).cumsum(axis=1)
        _mean_between(nearest, sums, 0, share, out)

    return _sorted_with_sums(rows, weights, finish)


def _median(values: Array, sums: Array) -> Array:
    """From sorted columns (c, m) and the sums of their weights, shape (c,)."""
    lower = (sums >= 0.5 - _ROUNDING).argmax(axis=1)
    upper = (sums > 0.5 + _ROUNDING).argmax(axis=1)
    each = np.arange(len(values))
    middle: Array = values[each, lower] + values[each, upper]
    middle /= 2
    return middle


def _mean_between(values: Array, sums: Array, first: float, last: float, out: Array) -> None:
    """The means of the values in the part of the weight between two shares."""
    for edge in (first, last):
        sums[np.abs(sums - edge) <= _ROUNDING] = edge
    counted = np.diff(sums.clip(first, last), axis=1, prepend=first)
    counted /= last - first
    np.einsum("ij,ij->i", values, counted.astype(values.dtype), out=out)


def _sorted_with_sums(
    rows: Rows, weights: Array, finish: Callable[[Array, Array, Array], None]
) -> Array:
    """One number per column, from its sorted values and the sums of their weights, both (c, m)."""
    m = len(rows)
    width = min(max(64, _BYTES // (m * 8)), rows.dim)

    def make() -> Kernel:
        columns = np.empty((width, m), rows.dtype)

        def kernel(block: Array, out: Array) -> None:
            part = columns[: block.shape[1]]
            transpose(block, part)
            order = part.argsort(axis=1)
            sums = weights[order].cumsum(axis=1)
            finish(np.take_along_axis(part, order, axis=1), sums, out)

        return kernel

    return by_columns(rows, width, make)
