"""Initial labels for stage II that use no knowledge of the truth."""

from collections.abc import Callable

import numpy as np

from tagma.arrays import Labels
from tagma.rng import stream

InitialLabels = Callable[[Labels], Labels]
"""From client numbers (m,) to initial labels (restarts, m)."""


def random_labels(clients: Labels, *, k: int, restarts: int, seed: int) -> Labels:
    """Uniform labels, shape (restarts, m), each client's from its own stream.

    One random labeling often leads to a poor fixed point; the best of twenty rarely does.
    """
    columns = [
        stream(seed, "initial labels", int(client)).integers(0, k, size=restarts)
        for client in clients
    ]
    return np.array(columns, dtype=np.int64).reshape(len(clients), restarts).T
