"""Who is Byzantine, and which cluster each client's data come from.

Both follow from one random order of the clients, a pure function of (clients, seed): the first
ceil(fraction * m) of it are Byzantine, and clients are dealt to the clusters in turn along it, or
by given shares. So the honest clients of every cluster are equally many, or in these shares, up to
one or two, for every fraction, and a larger fraction adds Byzantine clients without changing
anything else.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.rng import stream


def role_order(clients: int, seed: int) -> Labels:
    """The clients in the order in which they become Byzantine."""
    return stream(seed, "roles").permutation(clients)


def byzantine_clients(clients: int, fraction: float, seed: int) -> Mask:
    """True for the Byzantine clients."""
    mask = np.zeros(clients, dtype=bool)
    mask[role_order(clients, seed)[: ceil(fraction * clients - 1e-9)]] = True
    return mask


def cluster_labels(
    clients: int, clusters: int, seed: int, sizes: Sequence[float] | None = None
) -> Labels:
    """The data cluster of every client, Byzantine ones included; `sizes` are relative."""
    labels = np.empty(clients, dtype=np.int64)
    dealt = np.arange(clients) % clusters if sizes is None else _by_shares(clients, sizes)
    labels[role_order(clients, seed)] = dealt
    return labels


def _by_shares(clients: int, sizes: Sequence[float]) -> Labels:
    """Every client in turn goes to the cluster that lacks most of its share so far."""
    shares = np.asarray(sizes) / sum(sizes)
    counts = np.zeros(len(shares))
    dealt = np.empty(clients, dtype=np.int64)
    for turn in range(clients):
        dealt[turn] = np.argmax(shares * (turn + 1) - counts)
        counts[dealt[turn]] += 1
    return dealt
