"""Which clients take part in a round: a share of those of every model, drawn anew.

Stratified: of every model's clients ceil(fraction * number), so that no cluster is left out by
chance. Who has no model yet is always asked. Drawn from client numbers, so that every engine draws
the same.
"""

import numpy as np

from tagma.arrays import Labels
from tagma.counts import ceil_of
from tagma.exchange import NO_MODEL
from tagma.rng import stream


def sample(clients: Labels, which: Labels, fraction: float, seed: int, round_number: int) -> Labels:
    """The clients of this round, in ascending order."""
    if fraction >= 1:
        return clients
    random = stream(seed, "sampling", round_number)
    chosen = []
    for model in np.unique(which):
        own = clients[which == model]
        share = fraction if model != NO_MODEL else 1
        chosen.append(random.permutation(own)[: ceil_of(share, len(own))])
    return np.sort(np.concatenate(chosen)) if chosen else clients
