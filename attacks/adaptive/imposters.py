"""Imposters: Byzantine clients beside true clusters, scattered as they like around a centre.

They stand `distance` standard deviations (of the entries of honest local models) from the centres
of the smallest true clusters, all of a cluster to the same side, with `scatter` times the honest
scatter. Near enough they are taken for members and bend the cluster's model; many in one cluster
are its majority. With distance 0 and a small scatter they become the scale by which honest clients
are judged (`shrink`); with the usual scatter they flood the smallest cluster (`flood`).
"""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.parameter_search import Between, Space


class Imposters(ClusteringAttack):
    """Knows every honest local model and true group, and that clusters are judged by scatter."""

    space: ClassVar[Space] = {
        "clusters": Between(1, 5, whole=True),
        "distance": Between(0.0, 10.0),
        "scatter": Between(0.1, 2.0),
    }

    def __init__(
        self,
        *,
        clusters: Annotated[int, Ge(1)] | None = 1,
        distance: Annotated[float, Ge(0)] = 5.0,
        scatter: Annotated[float, Ge(0)] = 1.0,
        optimise: bool = False,
    ) -> None:
        self.clusters = clusters
        self.distance = distance
        self.scatter = scatter
        self.optimise = optimise

    def place(self, honest: Landscape, count: int, random: np.random.Generator) -> Array:
        """Dealt in turn to the smallest clusters, or to all."""
        chosen = np.argsort(honest.sizes, kind="stable")[: self.clusters]
        sides = random.standard_normal(honest.centres.shape)
        sides /= np.linalg.norm(sides, axis=1, keepdims=True)
        rows = chosen[np.arange(count) % len(chosen)]
        noise = random.standard_normal((count, sides.shape[1]))
        offset = self.distance * sides[rows] + self.scatter * noise
        return honest.centres[rows] + honest.scatter * offset
