"""The oracle of the paper: the same stage III, with the true clusters of honest machines given.

Byzantine machines are not excluded. They join the cluster whose true centre is nearest to the
local model they sent, as they would under perfect clustering. What remains is the error that no
clustering can remove.
"""

import numpy as np

from strategies.aggregation import Aggregator
from strategies.algorithm import ThreeStageAlgorithm
from strategies.clustering import Clustering
from strategies.optimisation import Optimiser
from tagma.arrays import Array, Labels, Mask
from tagma.errors import SettingError
from tasks.task import Truth


class Oracle(ThreeStageAlgorithm):
    """The algorithm with its stage II replaced by the truth."""

    def __init__(
        self,
        *,
        truth: Truth | None,
        byzantine: Mask,
        aggregate: Aggregator,
        optimiser: Optimiser,
    ) -> None:
        if truth is None:
            raise SettingError("strategy", "oracle", "needs a task whose true clusters are known")
        super().__init__(cluster=self._given_clusters, aggregate=aggregate, optimiser=optimiser)
        self._truth = truth
        self._honest = np.flatnonzero(~byzantine)

    def _given_clusters(self, machines: Labels, erms: Array) -> Clustering:
        centres = self._truth.centres
        labels = ((erms[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        honest = np.isin(machines, self._honest)
        labels[honest] = self._truth.labels[machines[honest]]
        models = centres.copy()
        for k in np.unique(labels):
            models[k] = self._aggregate(erms[labels == k]).estimate
        return Clustering(
            labels=labels,
            centres=models,
            trimmed=np.zeros(len(labels), dtype=bool),
            radius=np.full(len(centres), np.inf),
            history=labels[None],
            iterations=0,
            stopped="given",
        )
