"""The paper's synthetic problem: a mixture of linear regressions.

Cluster k has a coefficient vector w*_k with independent Bernoulli(1/2) entries. A machine of that
cluster holds n pairs (x, y) with x ~ N(0, I_d) and y = <x, w*_k> + N(0, noise^2). The loss is
(<x, w> - y)^2 / 2, so its Hessian is I_d and the step size of gradient descent is 1.
"""

from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.streams import stream
from tasks.roles import cluster_labels
from tasks.task import Data, Truth


class MixtureRegression:
    """K linear regressions in R^d; drawing one machine's data costs O(n d)."""

    def __init__(
        self,
        *,
        machines: Annotated[int, Ge(1)],
        clusters: Annotated[int, Ge(1)],
        dim: Annotated[int, Ge(1)],
        samples: Annotated[int, Ge(1)],
        noise: Annotated[float, Ge(0)],
        seed: int,
    ) -> None:
        if clusters > machines:
            raise SettingError(
                "task.clusters", clusters, f"must not exceed task.machines={machines}"
            )
        self.machines = machines
        self.clusters = clusters
        self.dim = dim
        self.samples = samples
        self.noise = noise
        self.seed = seed

    @cached_property
    def _truth(self) -> Truth:
        bits = stream(self.seed, "truth").integers(0, 2, size=(self.clusters, self.dim))
        labels = cluster_labels(self.machines, self.clusters, self.seed)
        return Truth(centres=bits.astype(np.float64), labels=labels)

    def truth(self) -> Truth:
        """The coefficients of every cluster and the cluster of every machine."""
        return self._truth

    def data(self, machine: int) -> Data:
        """The n training pairs of one machine."""
        return self._draw(machine, "data", self._coefficients(machine))

    def held_out(self, machine: int) -> Data:
        """N fresh pairs from the same regression."""
        return self._draw(machine, "held-out data", self._coefficients(machine))

    def data_with(self, machine: int, coefficients: Array) -> Data:
        """The training inputs and noise of one machine, with other coefficients."""
        return self._draw(machine, "data", coefficients)

    def _coefficients(self, machine: int) -> Array:
        return self._truth.centres[self._truth.labels[machine]]

    def _draw(self, machine: int, purpose: str, coefficients: Array) -> Data:
        source = stream(self.seed, purpose, machine)
        inputs = source.standard_normal((self.samples, self.dim))
        noise = self.noise * source.standard_normal(self.samples)
        return Data(inputs, inputs @ coefficients + noise)

    def loss(self, model: Array, data: Data) -> float:
        """Half the mean squared residual."""
        residuals = data.inputs @ model - data.targets
        return float(residuals @ residuals / (2 * len(residuals)))

    def gradient(self, model: Array, data: Data) -> Array:
        """X^T (X w - y) / n."""
        residuals = data.inputs @ model - data.targets
        return residuals @ data.inputs / len(residuals)

    def warnings(self) -> list[str]:
        """Least squares is unusable near n = d: its variance is infinite there."""
        if abs(self.samples - self.dim) <= max(1, self.dim // 20):
            return [
                f"task.samples={self.samples} is close to task.dim={self.dim}: the variance of "
                "least squares is infinite there; expect useless local models"
            ]
        return []
