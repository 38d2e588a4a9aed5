"""Fake cluster: the Byzantine clients make a tight cluster of their own.

With as many clusters allowed as there are true groups, theirs takes the place of one, and two true
groups have to share a model.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class FakeCluster(ClusteringAttack):
    """Omniscient and colluding."""

    space: ClassVar[Space] = {"distance": Between(0.1, 2.0), "scatter": Between(0.0, 2.0)}

    def __init__(
        self,
        *,
        distance: Annotated[float, Gt(0)] = 1.0,
        scatter: Annotated[float, Ge(0)] = 0.5,
        optimise: bool = False,
    ) -> None:
        self.distance = distance
        self.scatter = scatter
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """In a random direction from the middle of all groups."""
        d = honest.vectors.shape[1]
        direction = random.standard_normal(d)
        step = self.distance * honest.typical_gap / np.linalg.norm(direction)
        centre = honest.centres.mean(axis=0) + step * direction
        return centre + self.scatter * honest.scatter * random.standard_normal((count, d))
