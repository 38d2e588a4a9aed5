"""What the synthetic mixtures of linear models share.

Cluster k has a coefficient vector w*_k with independent entries scale * Bernoulli(1/2). A client
of that cluster holds n inputs x ~ N(0, I_d) and one target for each, which depends on x by the
score <x, w*_k> only. The loss depends on w by the score <x, w> only, so its gradient is

    X^T s / n,   s_i = the derivative of the loss of example i by its score.

Drawing one client's data, a loss and a gradient cost O(n d).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tagma.errors import SettingError
from tagma.layout import Named
from tagma.rng import stream
from tagma.tasks.roles import cluster_labels
from tagma.tasks.smoothness import largest_eigenvalue
from tagma.tasks.stack import Stack
from tagma.tasks.task import Better, Data, Truth

Count = Annotated[int, Ge(1)]


class LinearMixture(ABC):
    """K linear models in R^d; a subclass says how targets follow scores, and the loss."""

    metrics: Mapping[str, Better] = {"loss": "low"}
    bend: float = 1.0
    """The most that the loss of an example bends in its score."""

    def __init__(
        self,
        *,
        clients: int,
        clusters: int,
        dim: int,
        samples: int,
        seed: int,
        scale: float = 1.0,
        sizes: Sequence[float] | None = None,
        norm: float | None = None,
    ) -> None:
        if clusters > clients:
            raise SettingError("task.clusters", clusters, f"must not exceed task.clients={clients}")
        if sizes is not None and len(sizes) != clusters:
            raise SettingError("task.sizes", sizes, f"must have task.clusters={clusters} entries")
        self.clients = clients
        self.clusters = clusters
        self.dim = dim
        self.samples = samples
        self.seed = seed
        self.scale = scale
        self.sizes = sizes
        self.norm = norm

    @abstractmethod
    def _targets(self, scores: Array, random: np.random.Generator) -> Array:
        """Random targets of examples with these scores."""

    @abstractmethod
    def _losses(self, scores: Array, targets: Array) -> Array:
        """The loss of each example."""

    @abstractmethod
    def _slopes(self, scores: Array, targets: Array) -> Array:
        """The derivative of each example's loss by its score."""

    def opposite(self, targets: Array) -> Array:
        """The targets with the other sign; a classification has the other class instead."""
        return -targets

    @cached_property
    def _truth(self) -> Truth:
        bits = stream(self.seed, "truth").integers(0, 2, size=(self.clusters, self.dim))
        labels = cluster_labels(self.clients, self.clusters, self.seed, self.sizes)
        centres = self.scale * bits.astype(np.float64)
        if self.norm is not None:
            centres[~bits.any(axis=1), 0] = 1
            centres *= self.norm / np.linalg.norm(centres, axis=1, keepdims=True)
        return Truth(centres=centres, labels=labels)

    def truth(self) -> Truth:
        """The coefficients of every cluster and the cluster of every client."""
        return self._truth

    def initial(self) -> Named:
        """Zero."""
        return {"coefficients": np.zeros(self.dim)}

    def train(self, client: int) -> Data:
        """The n training examples of one client."""
        return self._draw(client, "data", self._coefficients(client))

    def test(self, client: int) -> Data:
        """N fresh examples of the same model."""
        return self._draw(client, "held-out data", self._coefficients(client))

    def data_with(self, client: int, coefficients: Array) -> Data:
        """The training inputs and noise of one client, with other coefficients."""
        return self._draw(client, "data", coefficients)

    def _coefficients(self, client: int) -> Array:
        return self._truth.known_centres()[self._truth.labels[client]]

    def _draw(self, client: int, purpose: str, coefficients: Array) -> Data:
        random = stream(self.seed, purpose, client)
        inputs = self._inputs(client, random)
        return Data(inputs, self._targets(inputs @ coefficients, random))

    def _inputs(self, client: int, random: np.random.Generator) -> Array:
        return random.standard_normal((self.samples, self.dim))

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss."""
        return float(self._losses(data.inputs @ model, data.targets).mean())

    def losses(self, models: Array, stack: Stack) -> Array:
        """The mean loss of every client."""
        return stack.means(self._losses(_scores(models, stack), stack.targets))

    def gradient(self, model: Array, data: Data) -> Array:
        """X^T s / n."""
        slopes = self._slopes(data.inputs @ model, data.targets)
        return slopes @ data.inputs / len(slopes)

    def gradients(self, models: Array, stack: Stack) -> Array:
        """The same for every client."""
        return stack.weighted_inputs(self._slopes(_scores(models, stack), stack.targets))

    def smoothness(self, data: Data) -> float:
        """The largest eigenvalue of bend X^T X / n."""
        return self.bend * largest_eigenvalue(data.inputs)

    def predict(self, model: Array, buffers: Named, inputs: Array) -> Array:
        """The scores, which targets follow."""
        scores: Array = inputs @ model
        return scores

    def evaluate(self, model: Array, data: Data) -> dict[str, float]:
        """The mean loss."""
        return {"loss": self.loss(model, data)}

    def warnings(self) -> list[str]:
        """Near n = d a linear fit is unusable: its variance is infinite there."""
        if abs(self.samples - self.dim) <= max(1, self.dim // 20):
            return [
                f"task.samples={self.samples} is close to task.dim={self.dim}: the variance of "
                "least squares is infinite there; solver.ridge=auto helps"
            ]
        return []


def _scores(models: Array, stack: Stack) -> Array:
    """<x, w> of every example, shape (m, b)."""
    scores: Array = np.matmul(stack.inputs, models[..., None])[..., 0]
    return scores
