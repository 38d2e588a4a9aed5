"""Whether clients trained long enough in round 1 to be told apart by the models that they sent.

All begin round 1 with one model. Where they stop early they have come but a part of their ways,
and clusters are as much nearer to each other than they will be; what the data leave to chance is
not. In round 2 a client trains on from its cluster's model. If that takes it on in the direction of
its first way, and by a good part of it, round 1 was too short.
"""

import numpy as np

from tagma.arrays import Array

TOO_MUCH = 1 / 3
"""Of its first way; a model that has settled goes on by next to nothing of it."""


def gone_on(first: Array, second: Array) -> float:
    """The part of its way of round 1 that the median client went on by in round 2.

    `first` and `second` are what the models moved, shape (m, d). Fewer than half of the clients
    cannot say that round 1 was too short, nor hide it.
    """
    parts = [float(b @ a) / float(a @ a) for a, b in zip(first, second, strict=True) if a.any()]
    return float(np.median(parts)) if parts else 0.0


def advice(part: float) -> str:
    """What to do about it."""
    return (
        f"clients went on by {part:.0%} of the way that they had come in round 1: it may have been "
        "too short to tell clusters apart; let clients train longer while server-round is 1, by "
        "more epochs or a larger step"
    )
