"""Who is Byzantine, and which cluster each machine's data come from.

Both follow from one random order of the machines, a pure function of (machines, seed): the first
ceil(fraction * m) of it are Byzantine, and machines are dealt to the clusters in turn along it, or
by given shares. So the honest machines of every cluster are equally many, or in these shares, up to
one or two, for every fraction, and a larger fraction adds liars without changing anything else.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.rng import stream


def role_order(machines: int, seed: int) -> Labels:
    """The machines in the order in which they become Byzantine."""
    return stream(seed, "roles").permutation(machines)


def byzantine_machines(machines: int, fraction: float, seed: int) -> Mask:
    """True for the Byzantine machines."""
    mask = np.zeros(machines, dtype=bool)
    mask[role_order(machines, seed)[: ceil(fraction * machines - 1e-9)]] = True
    return mask


def cluster_labels(
    machines: int, clusters: int, seed: int, sizes: Sequence[float] | None = None
) -> Labels:
    """The data cluster of every machine, Byzantine ones included; `sizes` are relative."""
    labels = np.empty(machines, dtype=np.int64)
    dealt = np.arange(machines) % clusters if sizes is None else _by_shares(machines, sizes)
    labels[role_order(machines, seed)] = dealt
    return labels


def _by_shares(machines: int, sizes: Sequence[float]) -> Labels:
    """Every machine in turn goes to the cluster that lacks most of its share so far."""
    shares = np.asarray(sizes) / sum(sizes)
    counts = np.zeros(len(shares))
    dealt = np.empty(machines, dtype=np.int64)
    for turn in range(machines):
        dealt[turn] = np.argmax(shares * (turn + 1) - counts)
        counts[dealt[turn]] += 1
    return dealt
