"""Copycat: several near-copies of each of some honest clients' local models.

A defence that takes clients who are too much alike for Byzantine, and bans them, bans the honest
client in their middle with them: `copies` Byzantine clients for one honest client. The victims are
clients of the smallest true cluster, so that little is left of it; if there are more, of the next.
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class Copycat(ClusteringAttack):
    """Knows every honest local model, and that copies are banned together."""

    space: ClassVar[Space] = {"copies": Between(1, 10, whole=True), "scatter": Between(0.0, 0.8)}

    def __init__(
        self,
        *,
        copies: Annotated[int, Ge(1)] = 4,
        scatter: Annotated[float, Ge(0)] = 0.1,
        optimise: bool = False,
    ) -> None:
        self.copies = copies
        self.scatter = scatter
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """So many around each victim, with so much of the honest scatter."""
        wanted = min(max(1, count // self.copies), len(honest.vectors))
        rank = honest.sizes.argsort(kind="stable").argsort()[honest.rows]
        victims = np.lexsort((random.random(len(rank)), rank))[:wanted]
        copied = honest.vectors[victims[np.arange(count) % wanted]]
        return copied + self.scatter * honest.scatter * random.standard_normal(copied.shape)
