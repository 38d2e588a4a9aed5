"""The reply check: a client's updates must agree with the local model that it claimed in round 1.

An honest client's gradient at w is H_i (w - w_i), with w_i its local model and H_i the (average)
Hessian of its own loss: it points away from w_i, and is about as long as w - w_i. How well (slant)
and how long (ratio) is much the same for all honest clients, of whatever cluster, so both are
judged by their median and spread over *all* clients that take part: Byzantine clients are caught
even where they are the majority of a cluster. In local mode the way that the client went, w minus
its reply, takes the gradient's place.

A reply strikes out if the angle is a right one or more, or the slant far above the others', or the
ratio far from theirs. The slant is tan(angle / 2): in few dimensions the cosine, which is 1 at
best, has a long tail that honest clients would be excluded for. A striking reply is not used; a
client with two strikes is out until replies that agree have made up for them.

This assumes a smooth convex loss and that updates come from all the data of the local model, which
must be the minimiser itself: not for stochastic gradients, nor for a strong ridge. A Byzantine
client who takes its claimed model for the truth passes; what it can do then is left to the spectral
filter.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Mask


@dataclass(frozen=True)
class Limits:
    """How far from the others a reply may be, in robust standard deviations."""

    slant: float = 4.0
    """The slant may be so far above the median."""
    ratio: float = 5.0
    """The logarithm of the ratio may be so far from the median, on either side."""
    strikes: int = 2
    """A client with so many more than replies that passed since is excluded."""
    floor: float = 0.02
    """Spreads below this count as this: where all agree, rounding must not decide."""


DEFAULTS = Limits()
_ROUNDING = 100
"""Errors of one rounding that add up in a local model or a reply."""


def strikes(
    models: Array,
    local_models: Array,
    replies: Array,
    *,
    judges: Mask | None = None,
    room: Array | None = None,
    limits: Limits = DEFAULTS,
) -> Mask:
    """Which replies strike out, shape (m,).

    `models` are those that the clients received, `local_models` those that they claimed, `replies`
    the gradients or the directions they went, all of shape (m, d). Medians and spreads are those of
    the rows in `judges`, by default all; a client's limits are `room` times as wide. Cost O(m d).
    """
    judges = np.ones(len(models), dtype=bool) if judges is None else judges
    claimed = models - local_models
    lengths = np.linalg.norm(claimed, axis=1), np.linalg.norm(replies, axis=1)
    # At its own minimiser, but for rounding, there is nothing to disagree about.
    rounding = _ROUNDING * np.finfo(models.dtype).eps * np.linalg.norm(models, axis=1)
    still = np.maximum(*lengths) <= rounding
    tiny = np.finfo(np.float64).tiny
    claimed = claimed / np.maximum(lengths[0], tiny)[:, None]
    replies = replies / np.maximum(lengths[1], tiny)[:, None]
    cosine = np.einsum("ij,ij->i", claimed, replies)
    ratio = np.log(np.maximum(lengths[1], tiny)) - np.log(np.maximum(lengths[0], tiny))
    slant = np.sqrt(np.maximum(1 - cosine, 0) / np.maximum(1 + cosine, tiny))
    times = 1.0 if room is None else room
    aslant = _standardised(slant, judges, limits.floor) > limits.slant * times
    uneven = np.abs(_standardised(ratio, judges, limits.floor)) > limits.ratio * times
    struck: Mask = (aslant | uneven | (cosine <= 0)) & ~still
    return struck


def _standardised(values: Array, judges: Mask, floor: float) -> Array:
    """Distance from the median in units of the spread, 1.48 times the median distance from it."""
    from_median = values - np.median(values[judges])
    return from_median / max(1.4826 * float(np.median(np.abs(from_median[judges]))), floor)
