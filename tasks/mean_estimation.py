"""The paper's experiment with real data: the means of clusters of points.

The true clusters are those of a threshold graph on the features (`tagma.tasks.feature_clusters`),
and w*_k is the mean of all points of cluster k. A machine holds n points: the points of each
cluster, in random order, are cut into splits of n, and what is left over is on no machine. The loss
is
||w - x||^2 / 2, so the local model is the mean of the split, the gradient w minus it, the Hessian
I_d and the step size 1.

Byzantine machines hold n points each, drawn from those of no cluster. Who they are follows from the
number of machines and their fraction, as in every task, so the task must know the fraction.

Assumes that the feature matrix fits into memory. A machine's data cost O(n d).
"""

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.tasks.feature_clusters import FeatureClusters, feature_clusters
from tagma.tasks.feature_data import Scaling
from tagma.tasks.roles import byzantine_machines
from tagma.tasks.task import Data, Truth

Count = Annotated[int, Ge(1)]

_FEW = 3
"""Fewer honest machines than this are too few to outvote a liar."""


class MeanEstimation:
    """K means in R^d, from splits of a feature matrix."""

    squared_distance: Literal[True] = True

    def __init__(
        self,
        *,
        data: str,
        scaling: Scaling,
        gamma: Annotated[float, Gt(0)] | None,
        clusters: Count,
        min_cluster: Count,
        samples: Count,
        machines: Count | None,
        adversarial: Annotated[float, Ge(0), Lt(0.5)],
        seed: int,
    ) -> None:
        if min_cluster < samples:
            raise SettingError(
                "task.min_cluster", min_cluster, f"must not be below task.samples={samples}"
            )
        self.clusters = clusters
        self.samples = samples
        self.seed = seed
        self._found = feature_clusters(data, scaling, gamma, clusters, min_cluster)
        self.dim = self._found.features.shape[1]
        splits = _splits(self._found, samples, seed)
        self.machines = _federation(machines, adversarial, len(splits), clusters)
        byzantine = byzantine_machines(self.machines, adversarial, seed)
        if byzantine.any() and not len(self._found.unused):
            raise SettingError(
                "task.adversarial", adversarial,
                "no point is unused, for Byzantine machines to hold; use attack=none, a smaller "
                "task.gamma or a larger task.min_cluster",
            )  # fmt: skip
        self._split_of = dict(zip(np.flatnonzero(~byzantine).tolist(), splits, strict=False))
        """Cluster and points of every honest machine."""

    @cached_property
    def _truth(self) -> Truth:
        labels = np.full(self.machines, -1)
        for machine, (cluster, _) in self._split_of.items():
            labels[machine] = cluster
        return Truth(centres=self._found.centres, labels=labels)

    def truth(self) -> Truth:
        """The means of the clusters, and the cluster of every honest machine."""
        return self._truth

    def data(self, machine: int) -> Data:
        """The machine's split, or for a Byzantine one n of the unused points."""
        if machine in self._split_of:
            return self._rows(self._split_of[machine][1])
        return self._rows(self._unused("data", machine))

    def held_out(self, machine: int) -> Data:
        """Other points of the cluster, n of them: those of other machines, and those on none.

        All others where they are fewer than n, and the machine's own where there are no others.
        For a Byzantine machine, n unused points drawn anew.
        """
        if machine not in self._split_of:
            return self._rows(self._unused("held-out data", machine))
        cluster, own = self._split_of[machine]
        others = np.setdiff1d(self._found.members[cluster], own)
        random = stream(self.seed, "held-out data", machine)
        return self._rows(random.permutation(others)[: self.samples] if len(others) else own)

    def _unused(self, purpose: str, machine: int) -> Labels:
        points = self._found.unused
        random = stream(self.seed, purpose, machine)
        return random.choice(points, self.samples, replace=len(points) < self.samples)

    def _rows(self, points: Labels) -> Data:
        return Data(self._found.features[points].astype(np.float64), np.zeros(len(points)))

    def loss(self, model: Array, data: Data) -> float:
        """The mean of ||w - x||^2 / 2."""
        differences = data.inputs - model
        return float(np.vdot(differences, differences) / (2 * len(differences)))

    def gradient(self, model: Array, data: Data) -> Array:
        """The model minus the mean of the rows."""
        return model - data.inputs.mean(axis=0)

    def warnings(self) -> list[str]:
        """Too few points for the Byzantine machines, or too few machines in a cluster."""
        found = []
        unused = len(self._found.unused)
        if len(self._split_of) < self.machines and unused < self.samples:
            found.append(
                f"only {unused} points are unused: Byzantine machines draw their "
                f"task.samples={self.samples} points with replacement"
            )
        labels = self._truth.labels
        least = int(np.bincount(labels[labels >= 0], minlength=self.clusters).min())
        if least < _FEW:
            found.append(
                f"the smallest cluster has {least} honest machines, too few to outvote liars: "
                "lower task.samples, or raise task.min_cluster or task.machines"
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


def _federation(machines: int | None, fraction: float, splits: int, clusters: int) -> int:
    """The number of machines, Byzantine ones included."""

    def honest(count: int) -> int:
        return int(np.count_nonzero(~byzantine_machines(count, fraction, seed=0)))

    if machines is None:
        machines = splits
        while honest(machines) < splits:
            machines += splits - honest(machines)
    if honest(machines) > splits:
        raise SettingError(
            "task.machines", machines, f"the data give {splits} splits, for as many honest machines"
        )
    if honest(machines) < clusters:
        raise SettingError(
            "task.machines", machines,
            f"leaves {honest(machines)} honest machines for task.clusters={clusters}",
        )  # fmt: skip
    return machines
