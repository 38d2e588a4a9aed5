"""What a learning problem offers to clients and to the server's evaluation."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from tagma.arrays import Array, Labels


@dataclass(frozen=True)
class Data:
    """The examples of one client: n rows of inputs and their n targets."""

    inputs: Array
    targets: Array


@dataclass(frozen=True)
class Truth:
    """What a synthetic task knows and no strategy may see."""

    centres: Array
    """The risk minimiser of each cluster, shape (K, d)."""
    labels: Labels
    """The cluster that each client's data come from, shape (m,); -1 for none."""


class Task(Protocol):
    """A learning problem with the loss f(w; x) that clients minimise.

    A task that writes its loss only, in torch, gets both `loss` and `gradient` from
    `tagma.tasks.torch_loss.TorchLoss`.

    Everything a client needs comes from its own random stream: asking for the data of one client
    never makes those of another.
    """

    clients: int
    clusters: int
    dim: int
    samples: int

    def data(self, client: int) -> Data:
        """The training examples of one client."""

    def held_out(self, client: int) -> Data:
        """Fresh examples of the same distribution, for evaluation."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss of the model."""

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""

    def truth(self) -> Truth | None:
        """The true clusters, or None where nobody knows them."""

    def warnings(self) -> list[str]:
        """What a user should know about these settings before trusting the result."""


@runtime_checkable
class LeastSquares(Task, Protocol):
    """A task whose loss is (<x, w> - y)^2 / 2, so that its local models have a closed form."""

    least_squares: Literal[True]


@runtime_checkable
class SquaredDistance(Task, Protocol):
    """A task whose loss is ||w - x||^2 / 2, so that its local models are means."""

    squared_distance: Literal[True]


@runtime_checkable
class WithCoefficients(Task, Protocol):
    """A task whose data follow a coefficient vector, which an attack may replace."""

    def data_with(self, client: int, coefficients: Array) -> Data:
        """The training examples of one client, had its cluster other coefficients."""


@runtime_checkable
class WithTargets(Task, Protocol):
    """A task that predicts targets, which have an opposite."""

    def opposite(self, targets: Array) -> Array:
        """The other class, or the number with the other sign."""
