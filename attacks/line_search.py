"""What the strongest adversary does: try the attack on the defence before sending it."""

from collections.abc import Callable
from math import inf, isfinite

from tagma.arrays import Array

Rehearse = Callable[[Array], float]
"""From the updates that would be sent, shape (b, d), to the harm they would do."""

_OCTAVES = range(-5, 6)
_REFINEMENTS = 4


def strongest(forge: Callable[[float], Array], rehearse: Rehearse, around: float) -> Array:
    """The updates that do most harm among forge(scale), by a line search for the scale.

    First over powers of two around the given scale, then halving the step (on a log axis) around
    the best: up to 32 times the given scale, and greedy, as it looks no round ahead. Among equals
    the smallest scale wins, as the least conspicuous. Costs about 19 rehearsals, each one step of
    the defence: in round 1, a whole clustering.
    """

    def harm(exponent: float) -> float:
        found = rehearse(forge(around * 2.0**exponent))
        return found if isfinite(found) else inf

    tried: dict[float, float] = {exponent: harm(exponent) for exponent in _OCTAVES}
    step = 1.0
    for _ in range(_REFINEMENTS):
        best, step = _best(tried), step / 2
        for exponent in (best - step, best + step):
            tried[exponent] = harm(exponent)
    return forge(around * 2.0 ** _best(tried))


def _best(tried: dict[float, float]) -> float:
    return min(tried, key=lambda exponent: (-tried[exponent], exponent))
