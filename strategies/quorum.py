"""Partial participation: which clusters may move in a round in which replies are missing.

With few replies the aggregate of a cluster is noisy, and its Byzantine clients may be the majority
of those who answered. A cluster with fewer than `min_replies` usable replies therefore keeps its
model for this round. A cluster that has no clients at all is not missing any.
"""

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.strategies.algorithms.three_stage import State


def enough_replies(state: State, clients: Labels, min_replies: int) -> tuple[Mask, list[int]]:
    """Which of the replying clients count, and the clusters that keep their model."""
    labels = state.clusters_of(clients)
    k = len(state.models)
    replies = np.bincount(labels, minlength=k)
    members = np.bincount(state.labels[state.labels >= 0], minlength=k)
    starved = (members > 0) & (replies < min_replies)
    return ~starved[labels], np.flatnonzero(starved).tolist()
