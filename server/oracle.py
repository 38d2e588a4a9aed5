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


def oracle(
    *, truth: Truth | None, byzantine: Mask, aggregate: Aggregator, optimiser: Optimiser
) -> ThreeStageAlgorithm:
    """The algorithm with its stage II replaced by the truth."""
    if truth is None:
        raise SettingError("strategy", "oracle", "needs a task whose true clusters are known")

    def cluster(machines: Labels, erms: Array) -> Clustering:
        squared = ((erms[:, None] - truth.centres) ** 2).sum(axis=2)
        labels = squared.argmin(axis=1)
        honest = np.isin(machines, np.flatnonzero(~byzantine))
        labels[honest] = truth.labels[machines[honest]]
        centres = truth.centres.copy()
        for k in np.unique(labels):
            centres[k] = aggregate(erms[labels == k]).estimate
        return Clustering(
            labels=labels,
            centres=centres,
            trimmed=np.zeros(len(labels), dtype=bool),
            radius=np.full(len(centres), np.inf),
            history=labels[None],
            iterations=0,
            stopped="given",
        )

    return ThreeStageAlgorithm(cluster=cluster, aggregate=aggregate, optimiser=optimiser)
