"""The paper's experiment with real data: the means of clusters of points.

The true clusters are those of a threshold graph on the features (`tagma.tasks.feature_clusters`),
and w*_k is the mean of all points of cluster k. A client holds n points: the points of each
cluster, in random order, are cut into splits of n, and what is left over is on no client. The loss
is
||w - x||^2 / 2, so the local model is the mean of the split, the gradient w minus it, the Hessian
I_d and the step size 1.

Byzantine clients hold n points each, drawn from those of no cluster. Who they are follows from the
number of clients and their fraction, as in every task, so the task must know the fraction.

Assumes that the feature matrix fits into memory. A client's data cost O(n d).
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.layout import Named
from tagma.rng import stream
from tagma.tasks.feature_clusters import FeatureClusters, feature_clusters
from tagma.tasks.feature_data import Scaling, scaled_alike
from tagma.tasks.roles import byzantine_clients
from tagma.tasks.stack import Stack
from tagma.tasks.task import Better, Data, Truth

Count = Annotated[int, Ge(1)]

_FEW = 3
"""Fewer honest clients than this are too few to outvote a Byzantine client."""


class MeanEstimation:
    """K means in R^d, from splits of a feature matrix."""

    squared_distance: Literal[True] = True
    metrics: Mapping[str, Better] = {"loss": "low"}

    def __init__(
        self,
        *,
        data: str,
        scaling: Scaling,
        gamma: Annotated[float, Gt(0)] | None,
        clusters: Count,
        min_cluster: Count,
        samples: Count,
        clients: Count | None,
        adversarial: Annotated[float, Ge(0), Lt(1)],
        seed: int,
    ) -> None:
        if min_cluster < samples:
            raise SettingError(
                "task.min_cluster", min_cluster, f"must not be below task.samples={samples}"
            )
        self.clusters = clusters
        self.samples = samples
        self.seed = seed
        self._source = data, scaling
        self._found = feature_clusters(data, scaling, gamma, clusters, min_cluster)
        self.dim = self._found.features.shape[1]
        splits = _splits(self._found, samples, seed)
        self.clients = _federation(clients, adversarial, len(splits), clusters)
        byzantine = byzantine_clients(self.clients, adversarial, seed)
        if byzantine.any() and not len(self._found.unused):
            raise SettingError(
                "task.adversarial", adversarial,
                "no point is unused, for Byzantine clients to hold; use attack=none, a smaller "
                "task.gamma or a larger task.min_cluster",
            )  # fmt: skip
        self._split_of = dict(zip(np.flatnonzero(~byzantine).tolist(), splits, strict=False))
        """Cluster and points of every honest client."""

    @cached_property
    def _truth(self) -> Truth:
        labels = np.full(self.clients, -1)
        for client, (cluster, _) in self._split_of.items():
            labels[client] = cluster
        return Truth(centres=self._found.centres, labels=labels)

    def truth(self) -> Truth:
        """The means of the clusters, and the cluster of every honest client."""
        return self._truth

    def initial(self) -> Named:
        """Zero."""
        return {"mean": np.zeros(self.dim)}

    def train(self, client: int) -> Data:
        """The client's split, or for a Byzantine one n of the unused points."""
        if client in self._split_of:
            return self._rows(self._split_of[client][1])
        return self._rows(self._unused("data", client))

    def test(self, client: int) -> Data:
        """Other points of the cluster, n of them: those of other clients, and those on none.

        All others where they are fewer than n, and the client's own where there are no others.
        For a Byzantine client, n unused points drawn anew.
        """
        if client not in self._split_of:
            return self._rows(self._unused("held-out data", client))
        cluster, own = self._split_of[client]
        others = np.setdiff1d(self._found.members[cluster], own)
        random = stream(self.seed, "held-out data", client)
        return self._rows(random.permutation(others)[: self.samples] if len(others) else own)

    def _unused(self, purpose: str, client: int) -> Labels:
        points = self._found.unused
        random = stream(self.seed, purpose, client)
        return random.choice(points, self.samples, replace=len(points) < self.samples)

    def _rows(self, points: Labels) -> Data:
        return Data(self._found.features[points].astype(np.float64), np.zeros(len(points)))

    def loss(self, model: Array, data: Data) -> float:
        """The mean of ||w - x||^2 / 2."""
        differences = data.inputs - model
        return float(np.vdot(differences, differences) / (2 * len(differences)))

    def losses(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        differences = stack.inputs - models[:, None]
        return stack.means(np.einsum("ijk,ijk->ij", differences, differences) / 2)

    def gradient(self, model: Array, data: Data) -> Array:
        """The model minus the mean of the rows."""
        return model - data.inputs.mean(axis=0)

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        means = stack.weighted_inputs(np.ones_like(stack.weights))
        return np.where(stack.counts[:, None] > 0, models - means, 0)

    def prepared(self, points: Array) -> Array:
        """Points from elsewhere, scaled as the data of the task."""
        return scaled_alike(*self._source, points).astype(np.float64)

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """The mean loss."""
        return {"loss": self.loss(model, data)}

    def warnings(self) -> list[str]:
        """Too few points for the Byzantine clients, or too few clients in a cluster."""
        found = []
        unused = len(self._found.unused)
        if len(self._split_of) < self.clients and unused < self.samples:
            found.append(
                f"only {unused} points are unused: Byzantine clients draw their "
                f"task.samples={self.samples} points with replacement"
            )
        labels = self._truth.labels
        least = int(np.bincount(labels[labels >= 0], minlength=self.clusters).min())
        if least < _FEW:
            found.append(
                f"the smallest cluster has {least} honest clients, too few to outvote others: "
                "lower task.samples, or raise task.min_cluster or task.clients"
            )
        return found


def _splits(found: FeatureClusters, samples: int, seed: int) -> list[tuple[int, Labels]]:
    """Every whole split with its cluster, in an order whose beginnings share the clusters out.

    Each beginning holds about the same share of every cluster, and the first K splits are one of
    each.
    """
    placed = []
    for cluster, members in enumerate(found.members):
        points = stream(seed, "splits", cluster).permutation(members)
        count = len(points) // samples
        rows = points[: count * samples].reshape(count, samples)
        placed += [(place / count, cluster, row) for place, row in enumerate(rows)]
    placed.sort(key=lambda split: split[:2])
    return [(cluster, row) for _, cluster, row in placed]


def _federation(clients: int | None, fraction: float, splits: int, clusters: int) -> int:
    """The number of clients, Byzantine ones included."""

    def honest(count: int) -> int:
        return int(np.count_nonzero(~byzantine_clients(count, fraction, seed=0)))

    if clients is None:
        clients = splits
        while honest(clients) < splits:
            clients += splits - honest(clients)
    if honest(clients) > splits:
        raise SettingError(
            "task.clients", clients, f"the data give {splits} splits, for as many honest clients"
        )
    if honest(clients) < clusters:
        raise SettingError(
            "task.clients", clients,
            f"leaves {honest(clients)} honest clients for task.clusters={clusters}",
        )  # fmt: skip
    return clients
