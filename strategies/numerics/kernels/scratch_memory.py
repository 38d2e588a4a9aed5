"""Memory that a thread uses again and again.

Fresh memory costs a page fault for every 4 kB of it: on small inputs as much as sorting them, and
on virtual machines, where the host may have taken the page meanwhile, many times that. Kernels that
run on two threads start these anew for every call, and do not have that advantage.
"""

import threading

import numpy as np

from tagma.arrays import Array

_LARGEST = 2**22
"""Bytes that a thread keeps; larger scratch memory is worth asking for each time."""
_LINE = 64
"""Bytes that the cache holds together."""


class _Own(threading.local):
    def __init__(self) -> None:
        self.memory = np.empty(_LARGEST, np.uint8)


_own = _Own()


def scratch(rows: int, columns: int, dtype: np.dtype[np.float64]) -> Array:
    """An array of no particular content, until the same thread asks for the next one."""
    if rows * columns * dtype.itemsize > _LARGEST:
        return np.empty((rows, columns), dtype)
    return np.ndarray((rows, columns), dtype, buffer=_own.memory)


def padded(columns: int, dtype: np.dtype[np.float64]) -> int:
    """A width of at least so many columns at which rows are spread over the cache.

    That is an odd number of its lines: rows 2^k apart would share few places in it.
    """
    line = _LINE // dtype.itemsize
    return (-(-columns // line) | 1) * line
