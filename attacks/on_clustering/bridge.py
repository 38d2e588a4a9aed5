"""Bridge: a chain of Byzantine clients from one true cluster to another.

Rules that join what is close (`clustering=edge_cutting`) walk over it, and centres on both sides
are drawn towards it.
"""

import numpy as np

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape


class Bridge(ClusteringAttack):
    """Omniscient and colluding."""

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Evenly on the line between the two nearest centres, with the honest scatter around it.

        With a single group, between its centre and the origin.
        """
        start, end = honest.centres[0], np.zeros(honest.vectors.shape[1])
        if len(honest.centres) > 1:
            gaps = honest.gaps + np.diag(np.full(len(honest.gaps), np.inf))
            first, second = np.unravel_index(gaps.argmin(), gaps.shape)
            start, end = honest.centres[first], honest.centres[second]
        steps = (np.arange(count) + 1)[:, None] / (count + 1)
        noise = honest.scatter * random.standard_normal((count, len(start)))
        return start + steps * (end - start) + noise
