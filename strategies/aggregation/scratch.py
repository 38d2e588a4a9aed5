"""Memory that a thread uses again and again.

Fresh memory costs a page fault for every 4 kB of it: on small inputs as much as sorting them.
"""

import threading

import numpy as np

from tagma.arrays import Array

_LARGEST = 2**20
"""Bytes that a thread keeps; larger scratch memory is worth asking for each time."""


class _Own(threading.local):
    def __init__(self) -> None:
        self.memory = np.empty(_LARGEST, np.uint8)


_own = _Own()


def scratch(rows: int, columns: int, dtype: np.dtype[np.float64]) -> Array:
    """An array of no particular content, until the same thread asks for the next one."""
    if rows * columns * dtype.itemsize > _LARGEST:
        return np.empty((rows, columns), dtype)
    return np.ndarray((rows, columns), dtype, buffer=_own.memory)
