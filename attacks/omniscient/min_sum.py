"""Min-sum (Shejwalkar, Houmansadr, 2021): min-max with sums of squared distances.

gamma is the largest for which the sum of the Byzantine clients' squared distances to the honest
updates is at most the largest such sum of an honest update. The sum for mean + gamma p is V + h
gamma^2 ||p||^2, where V is that for the mean, so gamma has a closed form.
"""

import numpy as np

from tagma.arrays import Array
from tagma.attacks.omniscient.hidden_shift import HiddenShift, squared_distances


class MinSum(HiddenShift):
    """Omniscient and colluding."""

    def largest_shift(self, honest: Array, direction: Array) -> float:
        """The largest gamma with V + h gamma^2 ||p||^2 <= max_j sum_i ||x_j - x_i||^2."""
        offsets = honest - honest.mean(axis=0)
        room = squared_distances(honest).sum(axis=1).max() - np.vdot(offsets, offsets)
        return float(np.sqrt(max(room, 0.0) / (len(honest) * (direction @ direction))))
