"""Stage III: what clients are asked for, and what their aggregate does to a cluster's model."""

from typing import Annotated, Protocol

from annotated_types import Ge, Gt

from tagma.arrays import Array


class Optimiser(Protocol):
    """One round of robust optimisation."""

    work: str
    """The instruction that clients receive: "gradient" or "local"."""

    def next_model(self, model: Array, aggregate: Array) -> Array:
        """The cluster's next model."""

    def directions(self, models: Array, updates: Array) -> Array:
        """How clients want to move away from the models that they received, as gradients do."""


class GradientStep:
    """Clients send gradients; the server steps: w <- w - step * aggregate."""

    work = "gradient"

    def __init__(self, *, step: Annotated[float, Gt(0)]) -> None:
        self.step = step

    def next_model(self, model: Array, aggregate: Array) -> Array:
        """One gradient step."""
        return model - self.step * aggregate

    def directions(self, models: Array, updates: Array) -> Array:
        """The gradients themselves."""
        return updates


class LocalSteps:
    """Clients take gradient steps and send their model (the paper's FA): w <- aggregate."""

    work = "local"

    def __init__(
        self, *, step: Annotated[float, Gt(0)], local_steps: Annotated[int, Ge(1)]
    ) -> None:
        self.step = step
        self.local_steps = local_steps

    def next_model(self, model: Array, aggregate: Array) -> Array:
        """The aggregate of the clients' models."""
        return aggregate

    def directions(self, models: Array, updates: Array) -> Array:
        """From what they sent to what they received."""
        return models - updates
