"""Min-max (Shejwalkar, Houmansadr, 2021): as far as possible, yet no outlier by distance.

gamma is the largest for which the Byzantine clients' distance to every honest update is at most the
largest distance between two honest updates. Each honest update gives a quadratic inequality for
gamma, so the largest is exact, without a search.
"""

import numpy as np

from tagma.arrays import Array
from tagma.attacks.omniscient.hidden_shift import HiddenShift, squared_distances


class MinMax(HiddenShift):
    """Omniscient and colluding."""

    def largest_shift(self, honest: Array, direction: Array) -> float:
        """The largest gamma with ||mean + gamma p - x_i|| <= max_jk ||x_j - x_k|| for all i."""
        offsets = honest.mean(axis=0) - honest
        along, length = offsets @ direction, direction @ direction
        room = squared_distances(honest).max() - np.einsum("ij,ij->i", offsets, offsets)
        roots = np.sqrt(np.maximum(along**2 + length * room, 0)) - along
        return float(max(roots.min() / length, 0.0))
