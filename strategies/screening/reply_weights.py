"""How much every client's replies count: by its examples, as far as a liar cannot use that.

A mean weighted by numbers of examples n_i is the best there is, and n_i is the client's own word.
So a client counts by n_i over the median, but

- as at most twice the median: many examples claimed give the influence of two clients;
- as no more than its noise shows, (1.5 s_0 / s_i)^2, where stage II measured it.

Few examples claimed only lose influence. While fewer than half lie, the median is between honest
numbers.
"""

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.clustering import OwnNoise

_MOST = 2.0
_FULL = 1.5
_MOST_ROOM = 4.0


def reply_weights(examples: Labels, noise: OwnNoise | None, counts: Mask) -> Array:
    """The weights of all clients, shape (m,); those of `counts` set the measure."""
    known = counts & (examples > 0)
    weights = np.ones(len(examples))
    if known.any():
        weights = weight_of(examples, float(np.median(examples[known])))
    if noise is not None:
        weights = np.minimum(weights, allowed_by(noise.scales, noise))
    return weights


def weight_of(examples: Labels, median: float) -> Array:
    """By examples alone; 1 for those who do not say."""
    return np.where(examples > 0, np.clip(examples / median, 0, _MOST), 1.0)


def allowed_by(scales: Array, noise: OwnNoise) -> Array:
    """The most that this noise allows."""
    tiny = np.finfo(np.float64).tiny
    allowed: Array = (_FULL * max(noise.typical, tiny) / np.maximum(scales, tiny)) ** 2
    return np.maximum(allowed, 1e-6)


def room_by(weights: Array) -> Array:
    """How much odder than most a reply may be: noise goes with the root of the examples.

    Who gets room by claiming few of them loses weight for it.
    """
    room: Array = np.clip(1 / np.sqrt(np.maximum(weights, 1e-6)), 1, _MOST_ROOM)
    return room
