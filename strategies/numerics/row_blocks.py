"""m rows in R^d that are read in blocks of columns.

Kernels never see the array as a whole. What is done to the rows before them, such as leaving some
out or mixing them, is done to each block as it is read, so that no second array of that size exists
and the memory beyond the input stays bounded whatever d is.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask

_MANY = 2**23
"""From this many entries on, a second thread is worth its start."""
_ENTRIES = 2**20
"""Of a block."""
_PASSES = 3
"""To read some rows only costs about as much per row as so many passes over it."""

Kernel = Callable[[Array, Array], None]
"""From a block (m, c) to one number per column, written into the second argument (c,)."""


class NotFiniteError(ValueError):
    """A row may not be finite."""


@dataclass(slots=True)  # not frozen, which would triple the time to make one; nothing changes it
class Rows:
    """An array of shape (m, d), and what happens to it on reading."""

    array: Array
    chosen: Labels | None = None
    """The rows that take part, if not all."""
    scale: float = 1.0
    """A power of two that every entry is multiplied by."""
    checked: bool = True
    """Whether the entries are known to be finite; if not, whoever reads them first has to look."""
    mixing: Array | None = None
    """Shape (r, m): the rows are replaced by r sums of them with these weights. Shape (m,): each
    row is multiplied by its own."""

    def __len__(self) -> int:
        if self.mixing is not None:
            return len(self.mixing)
        return len(self.array) if self.chosen is None else len(self.chosen)

    @property
    def plain(self) -> bool:
        """Whether the rows are those of the array, and known to be finite."""
        return self.chosen is None and self.mixing is None and self.scale == 1 and self.checked

    @property
    def multiplies_fast(self) -> bool:
        """Whether the array can be multiplied as it is, because entries lie side by side."""
        return self.array.itemsize in self.array.strides

    @property
    def dim(self) -> int:
        """The number d of columns."""
        return self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """float32 or float64."""
        return self.array.dtype

    def block(self, start: int, stop: int) -> Array:
        """The columns from `start` to `stop`; a view where nothing happens to them."""
        columns = slice(start, stop)
        block = self.array[:, columns]
        if self.chosen is not None:
            block = block[self.chosen]
        if self.scale != 1:
            block = block * block.dtype.type(self.scale)
        if self.mixing is not None:
            diagonal = self.mixing.ndim == 1
            block = self.mixing[:, None] * block if diagonal else self.mixing @ block
        return block

    def blocks(self, width: int) -> Iterator[tuple[slice, Array]]:
        """All columns, `width` at a time."""
        for start in range(0, self.dim, width):
            stop = min(start + width, self.dim)
            yield slice(start, stop), self.block(start, stop)

    def position(self, number: int) -> int:
        """Where row `number` of the array is now."""
        own = np.arange(len(self.array)) if self.chosen is None else self.chosen
        found = np.flatnonzero(own == number)
        if self.mixing is not None or not len(found):
            raise ValueError(f"row {number} does not take part")
        return int(found[0])

    def columns(self, chosen: Labels) -> "Rows":
        """These columns of the rows only."""
        return replace(self, array=self.array[:, chosen])

    def take(self, chosen: Labels) -> "Rows":
        """These of the rows only."""
        mixing = None if self.mixing is None else self.mixing[chosen]
        if mixing is not None and mixing.ndim == 2:
            return replace(self, mixing=mixing)
        own = chosen if self.chosen is None else self.chosen[chosen]
        return replace(self, chosen=own, mixing=mixing)

    def mixed(self, mixing: Array) -> "Rows":
        """Weighted sums of the rows, one for every row of weights, or multiples of each."""
        return replace(self, mixing=chain(self.mixing, mixing).astype(self.dtype))

    def combine(self, weights: Array) -> Array:
        """sum_i w_i x_i for weights of shape (..., m), shape (..., d).

        Where most weights are 0, only the rows of the others are read.
        """
        if self.mixing is not None:
            mixing = self.mixing
            weights = weights * mixing if mixing.ndim == 1 else weights @ mixing
            return replace(self, mixing=None).combine(weights)
        used = np.flatnonzero(weights if weights.ndim == 1 else _any_of(weights))
        own = used if self.chosen is None else self.chosen[used]
        scaled = (weights * self.scale).astype(self.dtype)
        most = len(used) * _PASSES >= len(self.array)
        if most and self.chosen is None and self.multiplies_fast:
            return scaled @ self.array
        scaled = scaled[..., used]
        estimate = np.empty((*weights.shape[:-1], self.dim), self.dtype)
        for columns in _spans(self.dim, usual_width(len(used))):
            np.matmul(scaled, self.array[own, columns], out=estimate[..., columns])
        return estimate

    def dense(self, out: Array | None = None) -> Array:
        """All rows as one array: a new one, or `out`, of their shape and dtype."""
        result = np.empty((len(self), self.dim), self.dtype) if out is None else out
        plain = replace(self, mixing=None)
        for columns in _spans(self.dim, 2**13):
            if self.mixing is not None and self.mixing.ndim == 2:
                block = plain.block(columns.start, columns.stop)
                if out is not None and np.may_share_memory(out, block):
                    block = block.copy()
                _average(self.mixing, block, result[:, columns])
            else:
                result[:, columns] = self.block(columns.start, columns.stop)
        return result


def _average(weights: Array, block: Array, out: Array) -> None:
    """Averages of the rows of a block, also of the largest floats, whose sums may be rounded up."""
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(weights, block, out=out)
        if np.isfinite(row_sums(out)).all():
            return
        np.matmul(weights, block * block.dtype.type(0.25), out=out)
        enlarge(out, 0.25)


def enlarge(averages: Array, scale: float) -> None:
    """Divide by a power of two what was computed from smaller rows, in place.

    Averages beyond the largest float are so by rounding only, and become it.
    """
    factor = averages.dtype.type(scale)
    largest = np.finfo(averages.dtype).max * factor
    np.clip(averages, -largest, largest, out=averages)
    averages /= factor


def usual_width(m: int) -> int:
    """How many columns of m rows make a block of some MB."""
    return max(1024, _ENTRIES // max(m, 1))


def _any_of(weights: Array) -> Mask:
    return np.logical_or.reduce(weights.reshape(-1, weights.shape[-1]) != 0, axis=0)


def chain(first: Array | None, second: Array) -> Array:
    """The mixing that two of them, one after the other, amount to."""
    if first is None:
        return second
    if first.ndim == 1:
        return second * first
    return second[:, None] * first if second.ndim == 1 else second @ first


def by_columns(
    rows: Rows, width: int, make_kernel: Callable[[], Kernel], *, looks: bool = False
) -> Array:
    """One number per column, `width` columns at a time, on two threads where it pays.

    Every thread makes a kernel of its own, so that kernels can keep scratch memory. Rows that are
    not checked yet are checked here, while each block is near the processor, unless the kernel
    itself looks for entries that are not finite.
    """
    estimate = np.empty(rows.dim, rows.dtype)
    spans = list(_spans(rows.dim, width))
    unseen = not rows.checked and not looks

    def work(spans: Sequence[slice]) -> None:
        kernel = make_kernel()
        with np.errstate(all="ignore"):  # a thread does not know what its parent ignores
            for columns in spans:
                block = rows.block(columns.start, columns.stop)
                if unseen and not np.isfinite(row_sums(block)).all():
                    raise NotFiniteError
                kernel(block, estimate[columns])

    if len(rows) * rows.dim >= _MANY and threads() > 1:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (spans[::2], spans[1::2])))
    else:
        work(spans)
    return estimate


def row_sums(block: Array) -> Array:
    """The sums of rows: not finite if an entry is not, or if they overflow."""
    return block @ np.ones(block.shape[1], block.dtype)


def threads() -> int:
    """How many threads kernels may use: two, unless OMP_NUM_THREADS or the computer says one."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(2, os.cpu_count() or 1, int(limit) if limit.isdigit() and int(limit) else 2)


def _spans(dim: int, width: int) -> Iterator[slice]:
    for start in range(0, dim, width):
        yield slice(start, min(start + width, dim))
