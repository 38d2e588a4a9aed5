"""Which replies of a cluster oppose their clients' own local models, where few came.

Among many replies the odd ones show. Of two or three, as a sampled round brings, one that is
Byzantine is as good as any other. But a client that trains on the data of its local model goes on
in much the direction in which it went then: less from round to round, for neural models, and hardly
ever against it. Who turns its updates round does.
"""

import numpy as np

from tagma.arrays import Array, Labels, Mask

_FEW = 6
"""Fewer replies of a cluster do not show which of them are odd."""


def few_that_oppose(changes: Array, claimed: Array, labels: Labels, counts: Mask) -> Mask:
    """Which replies, shape (r,), oppose what the client claimed, where fewer than six count.

    `changes` are those of the models received, `claimed` those of the initial model in round 1,
    both of shape (r, d). Cost O(r d).
    """
    replied = np.bincount(labels[counts], minlength=int(labels.max(initial=0)) + 1)
    against: Mask = np.einsum("ij,ij->i", changes, claimed) < 0
    return against & (replied[labels] < _FEW)
