"""The mean of the middle of every column: trimmed means and medians.

Three formulations, chosen by crossovers that were measured on a processor with AVX2:

- few rows: a pruned sorting network of minima and maxima over whole rows (`network`);
- more: blocks of columns are transposed, so that each lies in one piece, and sorted;
- many: the same, but the extremes are only parted from the middle, not sorted.

The middle is summed by itself, never as the total minus the extremes, which would lose everything
to cancellation when one value is huge.
"""

import numpy as np

from strategies.aggregation.network import program
from strategies.aggregation.rows import Kernel, Rows, by_columns
from tagma.arrays import Array

_NETWORK_ROWS = 64
"""Up to here the network is faster, given enough columns to pay for its many steps."""
_NETWORK_COLUMNS = 2048
_PARTITION_ROWS = 500
"""From here on parting is faster than sorting."""
_NETWORK_BYTES = 2**17
"""Of one row of a block: 20 rows stay near the processor, and Python's own time is small."""
_SORT_BYTES = 2**20
"""Of a transposed block."""


def middle_mean(rows: Rows, dropped: int) -> Array:
    """Per column, the mean without the `dropped` smallest and largest values; 2 dropped < m.

    Cost O(d m log m) for sorting, O(d m log^2 m) simple steps for the network.
    """
    m, size = len(rows), rows.dtype.itemsize
    if m <= _NETWORK_ROWS and rows.dim >= _NETWORK_COLUMNS:
        width = min(_NETWORK_BYTES // size, rows.dim)
        return by_columns(rows, width, lambda: _network_kernel(rows, dropped, width))
    width = min(max(64, _SORT_BYTES // (m * size)), rows.dim)
    return by_columns(rows, width, lambda: _sort_kernel(rows, dropped, width))


def _network_kernel(rows: Rows, dropped: int, width: int) -> Kernel:
    m = len(rows)
    steps = program(m, dropped)
    operations = [(np.minimum if o.minimum else np.maximum, *o[1:]) for o in steps.operations]
    scratch = np.empty((steps.lines - m, width), rows.dtype)
    number = m - 2 * dropped

    def kernel(block: Array, out: Array) -> None:
        lines = [*block, *scratch[:, : block.shape[1]]]
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
    m = len(rows)
    columns = np.empty((width, m), rows.dtype)
    number = m - 2 * dropped

    def kernel(block: Array, out: Array) -> None:
        part = columns[: block.shape[1]]
        part[:] = block.T
        middle = part[:, dropped : m - dropped]
        if m < _PARTITION_ROWS:
            part.sort(axis=1)
        elif dropped:
            part.partition(dropped, axis=1)
            upper = part[:, dropped + 1 :]
            if middle.shape[1] == 2:
                np.minimum.reduce(upper, axis=1, out=upper[:, 0])
            elif middle.shape[1] > 2:
                upper.partition(m - 2 * dropped - 2, axis=1)
        np.add.reduce(middle, axis=1, out=out)
        out /= number

    return kernel


def sorted_columns(rows: Rows, make_kernel: Kernel) -> Array:
    """One number per column, from blocks of columns that are transposed and sorted, (c, m)."""
    m = len(rows)
    width = min(max(64, _SORT_BYTES // (m * rows.dtype.itemsize)), rows.dim)

    def make() -> Kernel:
        columns = np.empty((width, m), rows.dtype)

        def kernel(block: Array, out: Array) -> None:
            part = columns[: block.shape[1]]
            part[:] = block.T
            part.sort(axis=1)
            make_kernel(part, out)

        return kernel

    return by_columns(rows, width, make)
