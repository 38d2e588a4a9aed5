"""The attack on Krum with full knowledge (Fang, Cao, Jia, Gong, 2020).

With s the signs of the honest mean's progress, all Byzantine clients send the progress -lambda s:
a step back from the received model, as long as it can be if Krum is to choose it. The search for
lambda begins at an upper bound,

    lambda^2 = min_i S_i / ((m - 2 b - 1) d),   plus   max_i ||x_i|| / sqrt(d),

S_i the sum of the squared distances of honest update i to its m - b - 2 nearest honest ones, x_i
its progress, b Byzantine clients of m, and halves it until Krum chooses the forged update, or it is
below 1e-5. Cost O(m^2 d).
"""

from math import sqrt
from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.arrays import Array
from tagma.attacks.base import FederationView
from tagma.attacks.omniscient.hidden_shift import squared_distances
from tagma.attacks.omniscient.per_cluster import ScaledAttack

_LEAST = 1e-5


class FangKrum(ScaledAttack):
    """Omniscient and colluding."""

    published = "Fang et al. 2020"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 1.0, optimise: bool = False) -> None:
        super().__init__(scale=scale, optimise=optimise)

    def against(self, honest: Array, own: Array, scale: float, view: FederationView) -> Array:
        """Scale times the longest step back that Krum chooses."""
        signs = np.sign(honest.mean(axis=0))
        return -scale * longest_step(honest, signs, len(own)) * signs


def longest_step(honest: Array, signs: Array, byzantine: int) -> float:
    """The paper's lambda for honest progress (h, d) and its direction's opposite, -signs."""
    squared = squared_distances(honest)
    length = _upper_bound(honest, squared, byzantine)
    while length > _LEAST and not _krum_takes(-length * signs, honest, squared, byzantine):
        length /= 2
    return length


def _upper_bound(honest: Array, squared: Array, byzantine: int) -> float:
    h, d = honest.shape
    sums = np.sort(squared, axis=1)[:, 1 : max(1, h - 2) + 1].sum(axis=1)  # the first is its own
    honest_majority = max(1, h - byzantine - 1)
    farthest = float(np.linalg.norm(honest, axis=1).max())
    return sqrt(float(sums.min()) / (honest_majority * d)) + farthest / sqrt(d)


def _krum_takes(forged: Array, honest: Array, squared: Array, byzantine: int) -> bool:
    """Whether Krum chooses an update that all Byzantine clients send."""
    nearest = max(1, len(honest) - 2)  # of m - b - 2, without itself
    away = np.square(honest - forged).sum(axis=1)
    own = np.sort(np.append(np.zeros(byzantine - 1), away))[:nearest].sum()
    others = np.hstack([squared, np.tile(away[:, None], (1, byzantine))])
    np.fill_diagonal(others, np.inf)
    scores = np.sort(others, axis=1)[:, :nearest].sum(axis=1)
    return bool(own <= scores.min())
