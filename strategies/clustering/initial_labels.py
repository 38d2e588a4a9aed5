"""Initial labels for stage II that use no knowledge of the truth."""

from collections.abc import Callable

import numpy as np

from tagma.arrays import Labels
from tagma.rng import stream

InitialLabels = Callable[[Labels], Labels]
"""From machine numbers (m,) to initial labels (restarts, m)."""


def random_labels(machines: Labels, *, k: int, restarts: int, seed: int) -> Labels:
    """Uniform labels, shape (restarts, m), each machine's from its own stream.

    One random labeling often leads to a poor fixed point; the best of twenty rarely does.
    """
    columns = [
        stream(seed, "initial labels", int(machine)).integers(0, k, size=restarts)
        for machine in machines
    ]
    return np.array(columns, dtype=np.int64).reshape(len(machines), restarts).T
