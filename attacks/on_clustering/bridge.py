"""Bridge: a chain of Byzantine clients from one true cluster to another.

Rules that join what is close (`clustering=edge_cutting`) walk over it, and centres on both sides
are drawn towards it. Of no length it is a crowd between the two (`halfway`), so that rules which
merge what is near take the two clusters and the crowd for one; with little scatter it is dense.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class Bridge(ClusteringAttack):
    """Omniscient and colluding."""

    space: ClassVar[Space] = {
        "position": Between(0.0, 1.0), "length": Between(0.0, 1.0), "scatter": Between(0.0, 2.0)
    }  # fmt: skip

    def __init__(
        self,
        *,
        position: Annotated[float, Ge(0), Le(1)] = 0.5,
        length: Annotated[float, Ge(0), Le(1)] = 1.0,
        scatter: Annotated[float, Ge(0)] = 1.0,
        optimise: bool = False,
    ) -> None:
        self.position = position
        self.length = length
        self.scatter = scatter
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Evenly on the line between the two nearest centres, scattered around it.

        The middle, the length and the scatter are in units of the line and of the honest scatter.
        With a single group, between its centre and the origin.
        """
        start, end = honest.centres[0], np.zeros(honest.vectors.shape[1])
        if len(honest.centres) > 1:
            gaps = honest.gaps + np.diag(np.full(len(honest.gaps), np.inf))
            first, second = np.unravel_index(gaps.argmin(), gaps.shape)
            start, end = honest.centres[first], honest.centres[second]
        evenly = (np.arange(count) + 1)[:, None] / (count + 1) - 0.5
        steps = self.position + self.length * evenly
        noise = self.scatter * honest.scatter * random.standard_normal((count, len(start)))
        return start + steps * (end - start) + noise
