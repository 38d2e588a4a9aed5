"""A machine that comes after stage II: it joins the cluster whose ball it is in, or waits.

Clustering anew would move machines between clusters in mid-run, and one liar could trigger it at
will. So the clusters stay as they are, and a newcomer's local model is compared with their centres:
it joins the nearest one if it lies within that cluster's ball, as every untrimmed member does. If
not, it is in quarantine: known, listed in the results, but without a model and without influence. A
clustering without balls has infinite ones and takes everybody. Cost O(K d + m d).
"""

from dataclasses import replace

import numpy as np

from strategies.algorithm import QUARANTINE, State
from tagma.arrays import Array


def admit(state: State, machine: int, erm: Array, round_number: int) -> State:
    """The state with one more machine, whose number is not taken yet."""
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(state.clustering.centres - erm, axis=1)
    nearest = int(distances.argmin())
    inside = bool(distances[nearest] <= state.clustering.radius[nearest])
    row = int(np.searchsorted(state.machines, machine))
    return replace(
        state,
        machines=np.insert(state.machines, row, machine),
        erms=np.insert(state.erms, row, erm, axis=0),
        labels=np.insert(state.labels, row, nearest if inside else QUARANTINE),
        trimmed=np.insert(state.trimmed, row, not inside),
        joined=np.insert(state.joined, row, round_number),
        standing=state.standing.with_newcomer(row),
    )
