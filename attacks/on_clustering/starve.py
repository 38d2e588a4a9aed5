"""Starve: all Byzantine clients join the smallest true cluster, to be its majority."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.on_clustering.infiltrate import around
from tagma.attacks.parameter_search import Between, Space


class Starve(ClusteringAttack):
    """Omniscient and colluding."""

    space: ClassVar[Space] = {"rho": Between(0.0, 2.0)}

    def __init__(self, *, rho: Annotated[float, Ge(0)] = 1.0, optimise: bool = False) -> None:
        self.rho = rho
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Around the centre of the smallest group."""
        return around(honest, honest.smallest(), self.rho, count, random)
