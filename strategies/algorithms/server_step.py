"""What clients are asked for in a round of optimisation, and what the aggregate does to a model.

This is the server's half; how clients train is `tagma.client.training`.
"""

from typing import Annotated, Protocol

from annotated_types import Ge, Gt

from tagma.arrays import Array
from tagma.exchange import GRADIENT, TRAIN


class ServerStep(Protocol):
    """One round of optimisation, on the server."""

    work: str
    """What clients are asked for."""

    def __call__(self, model: Array, aggregate: Array) -> Array:
        """The next model."""

    def directions(self, models: Array, updates: Array) -> Array:
        """How clients want to move away from the models that they received, as gradients do."""


class GradientStep:
    """Clients send gradients; the server steps: w <- w - step * aggregate."""

    work = GRADIENT

    def __init__(self, *, step: Annotated[float, Gt(0)]) -> None:
        self.step = step

    def __call__(self, model: Array, aggregate: Array) -> Array:
        """One gradient step."""
        return model - self.step * aggregate

    def directions(self, models: Array, updates: Array) -> Array:
        """The gradients themselves."""
        return updates


class AverageModels:
    """Clients train and send their model (the paper's FA): w <- aggregate.

    `step` and `local_steps` are how they train, unless `training` says otherwise.
    """

    work = TRAIN

    def __init__(
        self, *, step: Annotated[float, Gt(0)], local_steps: Annotated[int, Ge(1)]
    ) -> None:
        self.step = step
        self.local_steps = local_steps

    def __call__(self, model: Array, aggregate: Array) -> Array:
        """The aggregate of the clients' models."""
        return aggregate

    def directions(self, models: Array, updates: Array) -> Array:
        """From what they sent to what they received."""
        return models - updates
