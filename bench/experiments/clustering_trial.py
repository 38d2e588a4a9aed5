"""A federation, and what the theory of stage II says about its local models.

The theorem on K clusters speaks of local models y_i = theta_z + tau_i. Here theta_z is the mean of
the honest local models of the true cluster z and sigma the standard deviation of their entries
around it, so that r_1 is that of the very vectors which are clustered.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from tagma.arrays import Array, Labels
from tagma.attacks.adversary import adversary_of
from tagma.bench.experiments.stage_two_bounds import k_cluster_floor, k_cluster_snr, trimmed_surplus
from tagma.bench.federation_cell import FederationCell
from tagma.client.solvers.solver_choice import solver_of
from tagma.settings import Settings
from tagma.tasks.task_choice import task_of


@dataclass(frozen=True)
class ClusteringCell(FederationCell):
    """A federation whose metrics have `r_1`, `floor` and `rho`, too."""

    def run(self) -> dict[str, Any]:
        """Run it, then compute the local models of honest clients once more."""
        result = super().run()
        theory = theory_of(*_honest_models(self.settings))
        rho = _rho(result["metrics"]["clusters"])
        return result | {"metrics": result["metrics"] | theory | {"rho": rho}}


def theory_of(models: Array, labels: Labels) -> dict[str, float | None]:
    """r_1 and the floor, from honest local models and their true clusters; None for one cluster."""
    numbers, sizes = np.unique(labels, return_counts=True)
    clusters, honest = len(numbers), len(labels)
    if clusters < 2 or honest <= clusters:
        return {"r_1": None, "floor": None}
    centres = np.stack([models[labels == number].mean(axis=0) for number in numbers])
    residuals = models - centres[np.searchsorted(numbers, labels)]
    dim = models.shape[1]
    sigma = float(np.sqrt((residuals**2).sum() / (dim * (honest - clusters))))
    smallest = float(sizes.min() / honest)
    r_1 = k_cluster_snr(
        gap=float(pdist(centres).min()), sigma=sigma, smallest=smallest, clusters=clusters,
        dim=dim, honest=honest,
    )  # fmt: skip
    return {
        "r_1": r_1,
        "floor": k_cluster_floor(smallest=smallest, clusters=clusters, honest=honest),
    }


def _honest_models(settings: Settings) -> tuple[Array, Labels]:
    task, solve = task_of(settings), solver_of(settings)
    truth = task.truth()
    assert truth is not None
    honest = np.flatnonzero(~adversary_of(settings).byzantine)
    models = [solve(task, task.train(int(client))).model for client in honest]
    return np.stack(models), truth.labels[honest]


def _rho(clusters: list[dict[str, Any]]) -> float:
    filled = [cluster for cluster in clusters if cluster["size"]]
    return trimmed_surplus(
        [cluster["trimmed"] / cluster["size"] for cluster in filled],
        [cluster["byzantine"] / cluster["size"] for cluster in filled],
    )
