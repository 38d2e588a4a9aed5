"""The oracle of the paper: the same stage III, with the true clusters of honest clients given.

Byzantine clients join the cluster whose true centre is nearest to the local model they sent, or the
mean of its honest clients' where nobody knows the centre, as they would under perfect clustering:
what remains is the error of this stage III. Byzantine clients
who send something far from every centre can be the majority where they join; then this is no
yardstick for a run that gives them a cluster of their own. With `exclude_byzantine` they are left
out: that is the error of a federation without Byzantine clients.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels, Mask
from tagma.errors import SettingError
from tagma.exchange import Replies, Request
from tagma.strategies.aggregation import Aggregator, median
from tagma.strategies.aggregation.from_origin import measures_from_origin
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.algorithms.three_stage import ThreeStage, ThreeStageState
from tagma.strategies.clustering import Clustering
from tagma.tasks.task import Truth


class Oracle(ThreeStage):
    """The algorithm with its stage II replaced by the truth."""

    def __init__(
        self,
        *,
        truth: Truth | None,
        byzantine: Mask,
        aggregate: Aggregator,
        optimiser: ServerStep,
        exclude_byzantine: bool = False,
        spectral_filter: bool = False,
    ) -> None:
        if truth is None or not truth.knows_clusters:
            raise SettingError("strategy", "oracle", "needs a task whose true clusters are known")
        super().__init__(
            cluster=self._given_clusters,
            aggregate=aggregate,
            optimiser=optimiser,
            spectral_filter=spectral_filter,
        )
        self._truth = truth
        self._honest = np.flatnonzero(~byzantine)
        self._exclude_byzantine = exclude_byzantine

    def learn(self, state: ThreeStageState, request: Request, replies: Replies) -> ThreeStageState:
        """One round; after the first, without the Byzantine clients if they are excluded."""
        if state.clustered is not None:
            replies = replies.only(self._counting(replies.clients))
        return super().learn(state, request, replies)

    def admit(self, state: ThreeStageState, round_number: int, replies: Replies) -> ThreeStageState:
        """Honest newcomers join their true cluster, others the nearest."""
        after = super().admit(state, round_number, replies).clustered
        assert after is not None
        honest = np.isin(after.clients, self._honest)
        labels = after.labels.copy()
        labels[honest] = self._truth.labels[after.clients[honest]]
        return replace(state, clustered=replace(after, labels=labels))

    def counted(self, before: ThreeStageState, after: ThreeStageState, clients: Labels) -> Mask:
        """All, or all that are honest."""
        return self._counting(clients)

    def _counting(self, clients: Labels) -> Mask:
        """The clients whose vectors enter the aggregates."""
        if not self._exclude_byzantine:
            return np.ones(len(clients), dtype=bool)
        return np.isin(clients, self._honest)

    def _given_clusters(self, clients: Labels, local_models: Array) -> Clustering:
        honest = np.isin(clients, self._honest)
        true = self._truth.labels[clients[honest]]
        centres = self._truth.centres
        if centres is None:
            centres = _means(local_models[honest], true, self._truth.k)
        labels = cdist(local_models, centres).argmin(axis=1)
        labels[honest] = true
        models = centres.astype(local_models.dtype)
        # A rule of updates has nothing to measure local models from.
        aggregate = median if measures_from_origin(self._aggregate) else self._aggregate
        counts = self._counting(clients)
        for k in np.unique(labels):
            inside = (labels == k) & counts
            if inside.any():
                models[k] = aggregate(local_models[inside]).estimate
        return Clustering(
            labels=labels,
            centres=models,
            trimmed=np.zeros(len(labels), dtype=bool),
            radius=np.full(len(centres), np.inf),
            history=labels[None],
            iterations=0,
            stopped="given",
        )


def _means(rows: Array, labels: Labels, k: int) -> Array:
    """The mean row of every label; the mean of all for one that nobody has."""
    overall = rows.mean(axis=0)
    return np.array(
        [rows[labels == j].mean(axis=0) if (labels == j).any() else overall for j in range(k)]
    )
