"""What rules that remember clients keep of them, by the clients' numbers.

A memory is named arrays of real numbers: the numbers of all clients that were ever seen, in
ascending order, and one row for each in other arrays. Who is not asked in a round keeps its row.
"""

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Memory

CLIENTS = "clients"


def remembered(memory: Memory, name: str, shape: tuple[int | None, ...]) -> Array:
    """An array of a memory; a `ValueError` unless it is finite and of this shape, None: any."""
    array = memory.get(name)
    fits = array is not None and array.ndim == len(shape) and np.isfinite(array).all()
    if (
        array is None
        or not fits
        or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True))
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"memory: a finite array {name!r} of shape ({sizes}) is needed")
    return array


def rounds_of(memory: Memory | None) -> int:
    """How many rounds a rule remembers."""
    return 0 if memory is None else int(remembered(memory, "rounds", (1,))[0])


def known_clients(memory: Memory | None) -> Labels:
    """The clients that a memory has rows of, in ascending order."""
    if memory is None:
        return np.empty(0, dtype=np.int64)
    known = remembered(memory, CLIENTS, (None,)).astype(np.int64)
    if (np.diff(known) <= 0).any():
        raise ValueError(f"memory: {CLIENTS!r} must ascend")
    return known


def joined(known: Labels, rows: Array, clients: Labels) -> tuple[Labels, Array, Labels]:
    """All clients, the rows of all, zeros for new ones, and the places of `clients` among them."""
    everyone = np.union1d(known, clients)
    found = np.zeros((len(everyone), *rows.shape[1:]), rows.dtype)
    found[np.searchsorted(everyone, known)] = rows
    return everyone, found, np.searchsorted(everyone, clients)
