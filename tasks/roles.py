"""Who is Byzantine, and which cluster each machine's data come from.

Both follow from one random order of the machines, a pure function of (machines, seed): the first
ceil(fraction * m) of it are Byzantine, and machines are dealt to the clusters in turn along it.
So the honest machines of every cluster are equally many up to one, for every fraction, and a larger
fraction adds liars without changing anything else.
"""

from math import ceil

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.streams import stream


def role_order(machines: int, seed: int) -> Labels:
    """The machines in the order in which they become Byzantine."""
    return stream(seed, "roles").permutation(machines)


def byzantine_machines(machines: int, fraction: float, seed: int) -> Mask:
    """True for the Byzantine machines."""
    mask = np.zeros(machines, dtype=bool)
    mask[role_order(machines, seed)[: ceil(fraction * machines - 1e-9)]] = True
    return mask


def cluster_labels(machines: int, clusters: int, seed: int) -> Labels:
    """The data cluster of every machine, Byzantine ones included."""
    labels = np.empty(machines, dtype=np.int64)
    labels[role_order(machines, seed)] = np.arange(machines) % clusters
    return labels
