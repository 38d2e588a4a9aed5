"""Split: Byzantine clients on both sides of the largest true cluster, so that it falls in two.

Two centres are then spent on one group; with as many clusters as groups, two others share one.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class Split(ClusteringAttack):
    """Omniscient and colluding."""

    space: ClassVar[Space] = {"rho": Between(0.1, 3.0), "scatter": Between(0.0, 1.0)}

    def __init__(
        self,
        *,
        rho: Annotated[float, Gt(0)] = 1.5,
        scatter: Annotated[float, Ge(0)] = 0.1,
        optimise: bool = False,
    ) -> None:
        self.rho = rho
        self.scatter = scatter
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Two bunches along the widest direction of the group, each rho typical distances away."""
        row = honest.largest()
        centre, d = honest.centres[row], honest.vectors.shape[1]
        members = honest.vectors[honest.groups == honest.names[row]] - centre
        direction = np.linalg.svd(members, full_matrices=False)[2][0]
        sides = np.where(np.arange(count) % 2, 1.0, -1.0)[:, None]
        offset = self.rho * honest.scatter * np.sqrt(d) * direction
        noise = self.scatter * honest.scatter * random.standard_normal((count, d))
        return centre + sides * offset + noise
