"""Whether clusters help, or one model for all would do as well or better.

Clusters help where they explain how clients differ: within them clients have the same distribution,
and their changes of the model differ by the noise of their examples only. Where clients differ for
another reason, such as classes that are rare with most of them, so do those of one cluster.

So in two rounds clients train on one half of their examples each. Noise of disjoint halves is
independent, what else makes a client differ from its cluster is in both. The median cosine of the
two differences is about 0 in the first case; fewer than half of the clients cannot move it beyond
those of others. It needs nothing held out, and both rounds train the models as others do.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels

LIMIT = 0.35
"""Of the median cosine: with planted clusters it was below .15, with rare classes above .65."""
CLEAR = 0.8
"""Above this clusters do not help; between the two they may, beside what else clients differ by."""
_FEWEST = 4
"""Fewer clients that trained on both halves say nothing."""


@dataclass(frozen=True)
class Differences:
    """How clients differed from the others of their cluster in one round."""

    clients: Labels
    """In ascending order, shape (r,)."""
    rows: Array
    """Shape (r, d)."""

    def __post_init__(self) -> None:
        """One that was read from a file may be anything."""
        if self.rows.ndim != 2 or self.clients.shape != self.rows.shape[:1]:
            raise ValueError("differences of clients do not fit the clients")


def differences(clients: Labels, changes: Array, labels: Labels) -> Differences:
    """The changes at length 1, minus the mean of the other clients of the cluster. Cost O(r d)."""
    lengths = np.linalg.norm(changes, axis=1, keepdims=True)
    units = changes / np.maximum(lengths, np.finfo(changes.dtype).tiny)
    rows, known = np.empty_like(units), np.zeros(len(units), dtype=bool)
    for cluster in np.unique(labels):
        own = labels == cluster
        others = int(own.sum()) - 1
        if others:
            rows[own] = units[own] - (units[own].sum(axis=0) - units[own]) / others
            known |= own
    return Differences(clients[known], rows[known])


def likeness(first: Differences, second: Differences) -> float | None:
    """The median cosine of what clients differed by in two rounds; None if few were in both."""
    both, here, there = np.intersect1d(first.clients, second.clients, return_indices=True)
    if len(both) < _FEWEST:
        return None
    one, other = first.rows[here], second.rows[there]
    products = np.einsum("ij,ij->i", one, other)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(np.median(products / np.maximum(lengths, np.finfo(np.float64).tiny)))
