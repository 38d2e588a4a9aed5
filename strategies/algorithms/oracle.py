"""The oracle of the paper: the same stage III, with the true clusters of honest machines given.

Byzantine machines join the cluster whose true centre is nearest to the local model they sent, as
they would under perfect clustering: what remains is the error of this stage III. Liars who send
something far from every centre can be the majority where they join; then this is no yardstick for a
run that gives them a cluster of their own. With `exclude_byzantine` they are left out: that is the
error of a federation without liars.
"""

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.errors import SettingError
from tagma.strategies.aggregation import Aggregator
from tagma.strategies.algorithms.optimiser import Optimiser
from tagma.strategies.algorithms.three_stage import State, ThreeStageAlgorithm
from tagma.strategies.clustering import Clustering
from tagma.tasks.task import Truth


class Oracle(ThreeStageAlgorithm):
    """The algorithm with its stage II replaced by the truth."""

    def __init__(
        self,
        *,
        truth: Truth | None,
        byzantine: Mask,
        aggregate: Aggregator,
        optimiser: Optimiser,
        exclude_byzantine: bool = False,
    ) -> None:
        if truth is None:
            raise SettingError("strategy", "oracle", "needs a task whose true clusters are known")
        super().__init__(cluster=self._given_clusters, aggregate=aggregate, optimiser=optimiser)
        self._truth = truth
        self._honest = np.flatnonzero(~byzantine)
        self._exclude_byzantine = exclude_byzantine

    def advance(self, state: State, machines: Labels, updates: Array) -> State:
        """One round, without the liars if they are excluded."""
        counts = self._counting(machines)
        return super().advance(state, machines[counts], updates[counts])

    def _counting(self, machines: Labels) -> Mask:
        """The machines whose vectors enter the aggregates."""
        if not self._exclude_byzantine:
            return np.ones(len(machines), dtype=bool)
        return np.isin(machines, self._honest)

    def _given_clusters(self, machines: Labels, erms: Array) -> Clustering:
        centres = self._truth.centres
        labels = ((erms[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        honest = np.isin(machines, self._honest)
        labels[honest] = self._truth.labels[machines[honest]]
        models = centres.copy()
        counts = self._counting(machines)
        for k in np.unique(labels):
            inside = (labels == k) & counts
            if inside.any():
                models[k] = self._aggregate(erms[inside]).estimate
        return Clustering(
            labels=labels,
            centres=models,
            trimmed=np.zeros(len(labels), dtype=bool),
            radius=np.full(len(centres), np.inf),
            history=labels[None],
            iterations=0,
            stopped="given",
        )
