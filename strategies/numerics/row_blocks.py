"""m rows in R^d that are read in blocks of columns.

Kernels never see the array as a whole. What is done to the rows before them, such as leaving some
out or mixing them, is done to each block as it is read, so that no second array of that size exists
and the memory beyond the input stays bounded whatever d is.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache

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


LARGEST = 1e150
"""Entries beyond this are as useless as infinite ones: their squares overflow."""


class NotFiniteError(ValueError):
    """A row may not be usable: an entry may be NaN, infinite, or beyond `LARGEST`."""


@dataclass(slots=True)
class Rows:
    """An array of shape (m, d), and what happens to it on reading."""

    array: Array
    chosen: Labels | None = None
    """The rows that take part, if not all."""
    checked: bool = True
    """Whether all rows are known to be usable. Who has seen all entries says so by `confirm`."""
    mixing: Array | None = None
    """Shape (r, m): the rows are replaced by r sums of them with these weights. Shape (m,): each
    row is multiplied by its own."""

    def __len__(self) -> int:
        if self.mixing is not None:
            return len(self.mixing)
        return len(self.array) if self.chosen is None else len(self.chosen)

    @property
    def plain(self) -> bool:
        """Whether the rows are those of the array, as they are."""
        return self.chosen is None and self.mixing is None

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
        if self.mixing is not None:
            diagonal = self.mixing.ndim == 1
            block = self.mixing[:, None] * block if diagonal else self.mixing @ block
        return block

    def blocks(self, width: int) -> Iterator[tuple[slice, Array]]:
        """All columns, `width` at a time."""
        for start in range(0, self.dim, width):
            stop = min(start + width, self.dim)
            yield slice(start, stop), self.block(start, stop)

    def confirm(self, sizes: Array) -> None:
        """Note that all rows are usable, or raise a `NotFiniteError` where they may not be.

        `sizes` are sums or lengths over all entries, which show one that is not usable.
        """
        if not self.checked:
            limit = _limit(sizes.dtype)
            if not (sizes.max() <= limit and sizes.min() >= -limit):  # also for NaN
                raise NotFiniteError
            self.checked = True

    def check(self) -> None:
        """The same, from the sums of the rows; costs half of what their mean does."""
        if not self.checked:
            width = usual_width(len(self))
            self.confirm(np.array([row_sums(block) for _, block in self.blocks(width)]))

    def in_double(self) -> "Rows":
        """The same rows in float64."""
        mixing = None if self.mixing is None else self.mixing.astype(np.float64)
        return replace(self, array=self.array.astype(np.float64), mixing=mixing)

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
        own_weights = weights.astype(self.dtype)
        most = len(used) * _PASSES >= len(self.array)
        if most and self.chosen is None and self.multiplies_fast:
            return own_weights @ self.array
        own_weights = own_weights[..., used]
        estimate = np.empty((*weights.shape[:-1], self.dim), self.dtype)
        for columns in _spans(self.dim, usual_width(len(used))):
            np.matmul(own_weights, self.array[own, columns], out=estimate[..., columns])
        return estimate

    def dense(self, out: Array | None = None) -> Array:
        """All rows as one array: a new one, or `out`, of their shape and dtype."""
        self.check()
        result = np.empty((len(self), self.dim), self.dtype) if out is None else out
        plain = replace(self, mixing=None)
        for columns in _spans(self.dim, 2**13):
            if self.mixing is not None and self.mixing.ndim == 2:
                block = plain.block(columns.start, columns.stop)
                if out is not None and np.may_share_memory(out, block):
                    block = block.copy()
                np.matmul(self.mixing, block, out=result[:, columns])
            else:
                result[:, columns] = self.block(columns.start, columns.stop)
        return result


def usable_rows(array: Array) -> Rows:
    """The rows of an array whose entries are all finite and at most `LARGEST`."""
    usable, limit = np.ones(len(array), dtype=bool), _limit(array.dtype)
    for _, block in Rows(array).blocks(usual_width(len(array))):
        usable &= (block.max(axis=1) <= limit) & (block.min(axis=1) >= -limit)
    if not usable.any():
        raise ValueError("no row is finite")
    return Rows(array, chosen=None if usable.all() else np.flatnonzero(usable))


def _limit(dtype: np.dtype[np.float64]) -> float:
    return LARGEST if dtype == np.float64 else float(np.finfo(np.float32).max)


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


def by_columns(rows: Rows, width: int, make_kernel: Callable[[], Kernel]) -> Array:
    """One number per column, `width` columns at a time, on two threads where it pays.

    Every thread makes a kernel of its own, so that kernels can keep scratch memory. Rows that are
    not checked yet are checked here, while each block is near the processor.
    """
    estimate = np.empty(rows.dim, rows.dtype)
    spans = list(_spans(rows.dim, width))
    sums = np.zeros((len(spans), len(rows)))

    def work(numbers: Sequence[int]) -> None:
        kernel = make_kernel()
        with np.errstate(all="ignore"):  # a thread does not know what its parent ignores
            for number in numbers:
                columns = spans[number]
                block = rows.block(columns.start, columns.stop)
                if not rows.checked:
                    sums[number] = row_sums(block)
                kernel(block, estimate[columns])

    if len(rows) * rows.dim >= _MANY and threads() > 1:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (range(0, len(spans), 2), range(1, len(spans), 2))))
    else:
        work(range(len(spans)))
    rows.confirm(sums)
    return estimate


def row_sums(block: Array) -> Array:
    """The sums of rows: not finite if an entry is not."""
    return block @ _ones(block.shape[1], block.dtype)


@lru_cache(maxsize=8)
def _ones(number: int, dtype: np.dtype[np.float64]) -> Array:
    return np.ones(number, dtype)


def threads() -> int:
    """How many threads kernels may use: two, unless OMP_NUM_THREADS or the computer says one."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(2, os.cpu_count() or 1, int(limit) if limit.isdigit() and int(limit) else 2)


def _spans(dim: int, width: int) -> Iterator[slice]:
    for start in range(0, dim, width):
        yield slice(start, min(start + width, dim))
