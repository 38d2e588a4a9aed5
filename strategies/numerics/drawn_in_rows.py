"""Rows of any size around a robust origin, in units of their typical distance from it.

    y_i = c_i (x_i - o) / u        c_i = min(1, 2^40 u / ||x_i - o||)

with o the coordinate-wise median, u a power of two near the typical distance (the median of those
that are not 0) and the largest entry of a difference as its length. So a row beyond 2^40 typical
distances is drawn in to that distance and is an outlier like any other, also if it is of the
largest float and the others are of the smallest.

Numbers keep their exponents apart until they are known to fit: neither differences nor quotients
overflow or vanish on the way.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.numerics.kernels.middle_mean import middle_mean
from tagma.strategies.numerics.row_blocks import Rows, usual_width

FARTHEST = 40
"""Binary exponent of the largest distance, in units; squares of it are safe in float32."""


class DrawnIn:
    """m rows; building costs O(m d log m)."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # Quarters, because the sum or difference of two finite numbers can overflow.
        quarters = replace(rows, scale=rows.scale / 4)
        self._origin = 4 * middle_mean(quarters, (len(rows) - 1) // 2)
        self._peaks = _exponents(_largest(block) for _, block in rows.blocks(_width(rows)))
        self._before = self._safe(np.maximum(self._peaks, np.frexp(np.abs(self._origin).max())[1]))
        lengths = _largest_of(
            _largest(self._difference(columns, block, rows.dtype))
            for columns, block in rows.blocks(_width(rows))
        )
        fractions, exponents = np.frexp(lengths)
        exponents = exponents - self._before
        typical = _middle(fractions, exponents)
        self.unit = float(np.ldexp(1.0, typical))
        """What a length of 1 stands for."""
        beyond = np.where(lengths > 0, exponents - typical - FARTHEST, 0)
        self.far = np.flatnonzero(beyond > 0)
        """The rows that are drawn in."""
        self._fractions = np.ones(len(rows))
        self._fractions[self.far] = 1 / fractions[self.far]
        self._beyond = np.maximum(beyond, 0)
        self._after = -self._before - typical - self._beyond

    def blocks(self, dtype: np.dtype[np.float64] | None = None) -> Iterator[tuple[slice, Array]]:
        """Columns and the y_i in them, some at a time, in new arrays."""
        dtype = self._rows.dtype if dtype is None else dtype
        fractions = self._fractions.astype(dtype)[:, None]
        for columns, block in self._rows.blocks(_width(self._rows)):
            part = self._difference(columns, block, dtype)
            part *= fractions
            yield columns, _times_power_of_two(part, self._after)

    def combine(self, weights: Array) -> Array:
        """O + u sum_i w_i y_i for weights of shape (..., m) that sum to 1; shape (..., d)."""
        if not len(self.far):
            return self._rows.combine(weights)
        near = weights.copy()
        near[..., self.far] = 0
        estimate = self._rows.combine(near)
        far = weights[..., self.far]
        fractions, beyond = self._fractions[self.far], self._beyond[self.far]
        # c_i alone may be too small to be written, c_i x_i is not.
        peaks = np.maximum(self._peaks[self.far], np.finfo(self._rows.dtype).minexp)
        scaled = (far * np.ldexp(fractions, peaks - beyond)).astype(estimate.dtype)
        rest = (far * (1 - np.ldexp(fractions, -beyond))).sum(axis=-1).astype(estimate.dtype)
        rows = self._rows.take(self.far)
        for columns, block in rows.blocks(_width(rows)):
            part = _times_power_of_two(block.astype(estimate.dtype), -peaks)
            estimate[..., columns] += scaled @ part + rest[..., None] * self._origin[columns]
        return estimate

    def _safe(self, peaks: Labels) -> Labels:
        """Exponents to multiply rows by before anything is subtracted; mostly 0."""
        limits = np.finfo(self._rows.dtype)
        return np.clip(0, limits.minexp + 2 * limits.nmant - peaks, limits.maxexp - 2 - peaks)

    def _difference(self, columns: slice, block: Array, dtype: np.dtype[np.float64]) -> Array:
        origin = self._origin[columns].astype(dtype)
        if not self._before.any():
            return np.subtract(block, origin, dtype=dtype)
        part = _times_power_of_two(block.astype(dtype), self._before)
        part -= _times_power_of_two(np.tile(origin, (len(block), 1)), self._before)
        return part


def _width(rows: Rows) -> int:
    return min(usual_width(len(rows)), rows.dim)


def _largest(block: Array) -> Array:
    return np.maximum(block.max(axis=1), -block.min(axis=1))


def _largest_of(blocks: Iterator[Array]) -> Array:
    """The largest entries of rows, from those of blocks."""
    return np.maximum.reduce(list(blocks))


def _exponents(blocks: Iterator[Array]) -> Labels:
    return np.frexp(_largest_of(blocks))[1].astype(np.int64)


def _middle(fractions: Array, exponents: Labels) -> int:
    """The exponent of the lower median of the lengths that are not 0, if it can be written."""
    order = np.lexsort((fractions, exponents))
    order = order[fractions[order] > 0]
    middle = int(exponents[order[(len(order) - 1) // 2]]) if len(order) else 0
    return min(max(middle, -1074), 1023)


def _times_power_of_two(part: Array, exponents: Labels) -> Array:
    """Rows times 2^exponents, in place; in two steps where one factor could not be written."""
    most = np.finfo(part.dtype).maxexp - 2
    first = np.clip(exponents, -most, most)
    for step in (first, exponents - first):
        if step.any():
            part *= np.ldexp(part.dtype.type(1), step)[:, None]
    return part
