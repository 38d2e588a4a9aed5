"""Infiltrate: the Byzantine clients sit inside one true cluster, and lie in stage III.

Their local models are as far from the cluster's centre as honest ones are on average (rho = 1), so
no clustering can tell them apart by distance. What they do then is the setting `later`.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class Infiltrate(ClusteringAttack):
    """Omniscient and colluding."""

    space: ClassVar[Space] = {"rho": Between(0.0, 2.0)}

    def __init__(
        self,
        *,
        cluster: Annotated[int, Ge(0)] = 0,
        rho: Annotated[float, Ge(0)] = 1.0,
        optimise: bool = False,
    ) -> None:
        self.cluster = cluster
        self.rho = rho
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Around the chosen centre, at rho standard deviations of the honest models."""
        return around(honest, honest.row(self.cluster), self.rho, count, random)


def around(
    honest: Landscape, row: int, rho: float, count: int, random: np.random.Generator
) -> Array:
    """`count` vectors around a centre, with rho times the honest scatter."""
    centre = honest.centres[row]
    return centre + rho * honest.scatter * random.standard_normal((count, len(centre)))
