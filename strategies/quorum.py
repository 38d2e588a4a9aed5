"""Partial participation: which clusters may move in a round in which replies are missing.

With few replies the aggregate of a cluster is noisy, and its Byzantine clients may be the majority
of those who answered. A cluster with fewer than `min_replies` usable replies therefore keeps its
model for this round. A cluster that has no clients at all is not missing any.
"""

import numpy as np

from tagma.arrays import Labels, Mask


def enough_replies(replied: Labels, members: Labels, min_replies: int) -> tuple[Mask, list[int]]:
    """Which replies count, and the models that stay as they are.

    `replied` is the model of every reply, `members` that of every client; negative: none.
    """
    k = int(max(replied.max(initial=-1), members.max(initial=-1))) + 1
    replies = np.bincount(replied[replied >= 0], minlength=k)
    sizes = np.bincount(members[members >= 0], minlength=k)
    starved = (sizes > 0) & (replies < min_replies)
    counts: Mask = (replied < 0) | ~np.append(starved, False)[replied]
    return counts, np.flatnonzero(starved).tolist()
