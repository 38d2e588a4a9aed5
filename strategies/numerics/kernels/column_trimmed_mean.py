"""The trimmed mean of every column; a median is the most trimmed one.

Three formulations, chosen by the `crossovers` of the processor:

- few rows: a pruned sorting network of minima and maxima over whole rows (`selection_network`);
- more: blocks of columns are transposed, so that each lies in one piece, and sorted;
- many: the same, but the extremes are only partitioned from the middle, not sorted.

The middle is summed by itself, never as the total minus the extremes, which would lose everything
to cancellation when one value is huge.
"""

from functools import lru_cache

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.kernels.crossovers import crossovers
from tagma.strategies.numerics.kernels.selection_network import program
from tagma.strategies.numerics.kernels.transpose import padded, transpose
from tagma.strategies.numerics.row_blocks import Kernel, Rows, by_columns

_NETWORK_COLUMNS = 2048
"""From here on there are enough columns to pay for the many steps of a network."""
_NETWORK_BYTES = 2**17
"""Of one row of a block: 20 rows stay near the processor, and Python's own time is small."""
_SORT_BYTES = 2**20
"""Of a transposed block."""
_FEW = 2**15
"""Entries that are sorted at once: up to here Python's own time counts."""


def column_trimmed_mean(rows: Rows, dropped: int) -> Array:
    """Per column, the mean without the `dropped` smallest and largest values; 2 dropped < m.

    Cost O(d m log m) for sorting, O(d m log^2 m) simple steps for the network.
    """
    dim = rows.dim
    if dim < _NETWORK_COLUMNS and rows.array.size <= _FEW and rows.plain and rows.checked:
        return _of_few(rows.array, dropped)
    m, dtype = len(rows), rows.dtype
    if m <= crossovers(dtype).network and dim >= _NETWORK_COLUMNS:
        width = min(_NETWORK_BYTES // dtype.itemsize, dim)
        return by_columns(rows, width, lambda: _network_kernel(rows, dropped, width))
    width = min(max(64, _SORT_BYTES // (m * dtype.itemsize)), dim)
    return by_columns(rows, width, lambda: _sort_kernel(rows, dropped, width))


def _of_few(array: Array, dropped: int) -> Array:
    """The same for a small array, without the cost of reading it in blocks."""
    columns = array.T.copy()
    columns.sort(axis=1)
    middle, number = _middle(len(array), dropped, array.dtype)
    estimate: Array = columns.dot(middle)
    return np.divide(estimate, number, out=estimate)


@lru_cache(maxsize=256)
def _middle(m: int, dropped: int, dtype: np.dtype[np.float64]) -> tuple[Array, Array]:
    """1 for the values that count, 0 for the others; how many count."""
    numbers = np.arange(m)
    return (
        ((dropped <= numbers) & (numbers < m - dropped)).astype(dtype),
        np.array(m - 2 * dropped, dtype),
    )


def _network_kernel(rows: Rows, dropped: int, width: int) -> Kernel:
    m = len(rows)
    steps = program(m, dropped)
    operations = [
        (np.minimum if minimum else np.maximum, a, b, out)
        for minimum, a, b, out in steps.operations
    ]
    spare = np.empty((steps.lines - m, padded(width, rows.dtype)), rows.dtype)
    number = m - 2 * dropped

    def kernel(block: Array, out: Array) -> None:
        lines = [*block, *spare[:, : block.shape[1]]]
        for operation, a, b, result in operations:
            operation(lines[a], lines[b], out=lines[result])
        first, *others = (lines[line] for line in steps.middle)
        if not others:
            out[:] = first
            return
        np.add(first, others[0], out=out)
        for line in others[1:]:
            out += line
        out /= number

    return kernel


def _sort_kernel(rows: Rows, dropped: int, width: int) -> Kernel:
    columns = np.empty((width, len(rows)), rows.dtype)

    def kernel(block: Array, out: Array) -> None:
        own = columns[: block.shape[1]]
        transpose(block, own)
        _average_middle(own, dropped, out)

    return kernel


def _average_middle(columns: Array, dropped: int, out: Array) -> None:
    """The means of the middles of columns (c, m), which are sorted or partitioned in place."""
    m = columns.shape[1]
    number = m - 2 * dropped
    if not crossovers(columns.dtype).partitions(m, dropped):
        columns.sort(axis=1)
    elif dropped:
        columns.partition(dropped, axis=1)
        upper = columns[:, dropped + 1 :]
        if number == 2:
            np.minimum.reduce(upper, axis=1, out=out)
            out += columns[:, dropped]
            out /= 2
            return
        if number > 2:
            upper.partition(number - 2, axis=1)
    np.matmul(columns[:, dropped : m - dropped], np.ones(number, columns.dtype), out=out)
    out /= number


def sorted_columns(rows: Rows, make_kernel: Kernel) -> Array:
    """One number per column, from blocks of columns that are transposed and sorted, (c, m)."""
    m = len(rows)
    width = min(max(64, _SORT_BYTES // (m * rows.dtype.itemsize)), rows.dim)

    def make() -> Kernel:
        columns = np.empty((width, m), rows.dtype)

        def kernel(block: Array, out: Array) -> None:
            part = columns[: block.shape[1]]
            transpose(block, part)
            part.sort(axis=1)
            make_kernel(part, out)

        return kernel

    return by_columns(rows, width, make)
