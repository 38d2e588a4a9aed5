"""What clients are asked for in a round of optimisation, and what the aggregate does to a model.

This is the server's half; how clients train is `tagma.client.training`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Protocol

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.exchange import GRADIENT, SMOOTHNESS, TRAIN, Expected, Request
from tagma.step_size import AUTO, StepSize, step_of

Told = Mapping[str, Array]
"""Numbers that clients report beside their updates, `Replies.extras`."""
_LONG = 1e20
"""Steps up to this make no usable reply infinite, in single precision either."""
NOTHING: Told = MappingProxyType({})


class ServerStep(Protocol):
    """One round of optimisation, on the server."""

    work: str
    """What clients are asked for."""
    needs: Mapping[str, Expected] = MappingProxyType({})
    """The numbers that they are to report beside it."""

    def request(
        self,
        clients: Labels,
        models: Array,
        which: Labels | None,
        settings: Mapping[str, float] | None = None,
        expects: Mapping[str, Expected] | None = None,
    ) -> Request:
        """A request for this work, and for the numbers that the step needs."""
        asked = {**(settings or {}), **dict.fromkeys(self.needs, 1.0)}
        reported = {**(expects or {}), **self.needs}
        return Request(self.work, clients, models, which, asked, reported)

    def __call__(self, model: Array, aggregate: Array, told: Told = NOTHING) -> Array:
        """The next model; `told` came with the updates that were aggregated."""

    def origin(self, model: Array) -> Array | None:
        """Where updates are measured from: the model, where clients answer with models."""
        return None

    def directions(self, models: Array, updates: Array) -> Array:
        """How clients want to move away from the models that they received, as gradients do."""


class GradientStep(ServerStep):
    """Clients send gradients; the server steps: w <- w - step * aggregate.

    With `step=auto` they also report how fast their gradients can change, and the step follows.
    """

    work = GRADIENT

    def __init__(self, *, step: StepSize) -> None:
        self.step = step
        if step == AUTO:
            self.needs = {SMOOTHNESS: _SMOOTHNESS}

    def __call__(self, model: Array, aggregate: Array, told: Told = NOTHING) -> Array:
        """One gradient step; a model that it would make infinite stays as it is.

        No client's data do that, but a cluster of Byzantine ones can say that theirs do.
        """
        step = self.step
        if step == AUTO:
            if SMOOTHNESS not in told:
                said = "the algorithm does not ask clients what it takes; give a number"
                raise SettingError("optimiser.step", AUTO, said)
            step = step_of(told[SMOOTHNESS].tolist())
        if step <= _LONG:
            return model - step * aggregate
        with np.errstate(over="ignore", invalid="ignore"):
            moved: Array = model - step * aggregate
        return moved if np.isfinite(moved).all() else model

    def directions(self, models: Array, updates: Array) -> Array:
        """The gradients themselves."""
        return updates


class AverageModels(ServerStep):
    """Clients train and send their model (the paper's FA): w <- aggregate.

    `step` and `local_steps` are how they train, unless `training` says otherwise.
    """

    work = TRAIN

    def __init__(self, *, step: StepSize, local_steps: Annotated[int, Ge(1)]) -> None:
        self.step = step
        self.local_steps = local_steps

    def __call__(self, model: Array, aggregate: Array, told: Told = NOTHING) -> Array:
        """The aggregate of the clients' models."""
        return aggregate

    def origin(self, model: Array) -> Array | None:
        """What the clients started from."""
        return model

    def directions(self, models: Array, updates: Array) -> Array:
        """From what they sent to what they received."""
        return models - updates


_SMOOTHNESS = Expected(0, 1e150)
