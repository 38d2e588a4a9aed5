"""Initial labels for stage II that use no knowledge of the truth."""

from collections.abc import Callable

import numpy as np

from tagma.arrays import Labels
from tagma.kept import kept
from tagma.plain_state import locked
from tagma.rng import stream

InitialLabels = Callable[[Labels], Labels]
"""From client numbers (m,) to initial labels (restarts, m)."""


def random_labels(clients: Labels, *, k: int, restarts: int, seed: int) -> Labels:
    """Uniform labels, shape (restarts, m), each client's from its own stream.

    One random labeling often leads to a poor fixed point; the best of twenty rarely does.
    """
    return _drawn(tuple(clients.tolist()), k, restarts, seed)


@kept(maxsize=4)
def _drawn(clients: tuple[int, ...], k: int, restarts: int, seed: int) -> Labels:
    """The same for all runs of a grid that share the seed."""
    columns = [
        stream(seed, "initial labels", client).integers(0, k, size=restarts) for client in clients
    ]
    return locked(np.array(columns, dtype=np.int64).reshape(len(clients), restarts).T)
