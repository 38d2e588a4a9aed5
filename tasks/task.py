"""What a learning problem offers to clients and to the server's evaluation."""

from dataclasses import dataclass
from typing import Protocol

from tagma.arrays import Array, Labels


@dataclass(frozen=True)
class Data:
    """The examples of one machine: n rows of inputs and their n targets."""

    inputs: Array
    targets: Array


@dataclass(frozen=True)
class Truth:
    """What a synthetic task knows and no strategy may see."""

    centres: Array
    """The risk minimiser of each cluster, shape (K, d)."""
    labels: Labels
    """The cluster that each machine's data come from, shape (m,)."""


class Task(Protocol):
    """A learning problem with the loss f(w; x) that machines minimise.

    Everything a machine needs comes from its own random stream: asking for the data of one machine
    never makes those of another.
    """

    machines: int
    clusters: int
    dim: int
    samples: int

    def data(self, machine: int) -> Data:
        """The training examples of one machine."""

    def held_out(self, machine: int) -> Data:
        """Fresh examples of the same distribution, for evaluation."""

    def loss(self, model: Array, data: Data) -> float:
        """The mean loss of the model."""

    def gradient(self, model: Array, data: Data) -> Array:
        """The gradient of the mean loss."""

    def truth(self) -> Truth | None:
        """The true clusters, or None where nobody knows them."""

    def warnings(self) -> list[str]:
        """What a user should know about these settings before trusting the result."""
