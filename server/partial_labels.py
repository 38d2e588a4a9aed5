"""Initial labels as in the paper's experiments: mostly right, by looking at the truth.

They exist to reproduce the paper. Nobody has such labels in practice, so they are never a default.
"""

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.rng import stream
from tagma.tasks.task import Truth


def partial_labels(
    clients: Labels, *, truth: Truth, byzantine: Mask, correct: float, seed: int
) -> Labels:
    """Shape (1, m): a share `correct` of the honest clients right, all others uniform."""
    honest = np.flatnonzero(~byzantine)
    right = stream(seed, "partial labels").permutation(honest)[: round(correct * len(honest))]
    known = np.isin(clients, right)
    uniform = [stream(seed, "partial labels", int(client)).integers(truth.k) for client in clients]
    labels = np.array(uniform, dtype=np.int64)
    labels[known] = truth.labels[clients[known]]
    return labels[None]
