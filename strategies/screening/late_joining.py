"""A client that comes after stage II: it joins the cluster whose ball it is in.

Clustering anew would move clients between clusters in mid-run, and one Byzantine client could
trigger it at will. So the clusters stay as they are, and a newcomer's local model is compared with
their centres (`placement`). One that no ball holds is in quarantine: listed, without influence.
Where quarantine is a stage of the run, that is the same quarantine as after round 1: the client
gets the model of the nearest cluster and may be let go on evidence. Where it is not, nobody else is
in one, and the newcomer waits without a cluster and is not asked. A clustering without balls takes
everybody. Cost O(K d + m d).
"""

from dataclasses import replace

import numpy as np

from tagma.arrays import Array
from tagma.strategies.algorithms.three_stage import NO_CLUSTER, State
from tagma.strategies.screening.placement import place


def admit(
    state: State, client: int, local_model: Array, round_number: int, *, quarantine: bool = False
) -> State:
    """The state with one more client, whose number is not taken yet.

    `quarantine` tells whether quarantine is a stage of the run.
    """
    clustering = state.clustering
    members = np.bincount(clustering.labels[~clustering.trimmed], minlength=clustering.k)
    found = place(local_model, clustering.centres, clustering.radius, members)
    row = int(np.searchsorted(state.clients, client))
    label = found.cluster if found.inside or quarantine else NO_CLUSTER
    return replace(
        state,
        clients=np.insert(state.clients, row, client),
        local_models=np.insert(state.local_models, row, local_model, axis=0),
        labels=np.insert(state.labels, row, label),
        trimmed=np.insert(state.trimmed, row, not found.inside),
        joined=np.insert(state.joined, row, round_number),
        standing=state.standing.with_newcomer(row, quarantined=not found.inside),
    )
