"""Federated averaging (McMahan et al., 2017): one model for everybody, with any robust rule.

Every round sends the model w to the clients at hand. With `optimiser=local` each answers with its
model after local training, and the next w is their aggregate; with `optimiser=gradient` they answer
with gradients, and w moves by a step along the aggregate. The paper's average is `aggregation=mean`
weighted by numbers of examples; with a robust rule this is what robust federated learning compares
with. Clients in groups that want different models get a compromise.

A number of examples is a client's own word: with `weights=examples` a Byzantine client that claims
many counts as many. `weights=equal` is the choice against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tagma.arrays import Array, Labels
from tagma.exchange import Replies, Request
from tagma.strategies.aggregation import Aggregator, Memory
from tagma.strategies.aggregation.rule_verdicts import watched
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.server_step import ServerStep

Weights = Literal["examples", "equal"]


@dataclass(frozen=True)
class OneModel:
    """The model, shape (d,), and what the rule remembers."""

    model: Array
    memory: Memory | None = None


class FedAvg(AlgorithmBase[OneModel]):
    """One model for all clients."""

    def __init__(
        self, *, aggregate: Aggregator, optimiser: ServerStep, weights: Weights = "examples"
    ) -> None:
        self._aggregate = watched(aggregate)
        self._step = optimiser
        self._weights = weights
        self._settings: Mapping[str, float] = {}

    def start(self, initial: Array) -> OneModel:
        """The task's initial model."""
        return OneModel(initial)

    def ask(self, state: OneModel, round_number: int, clients: Labels) -> Request:
        """An update of the one model, from everybody."""
        models, which = self.serve(state, clients)
        return self._step.request(clients, models, which, self._settings)

    def learn(self, state: OneModel, request: Request, replies: Replies) -> OneModel:
        """The model moves by the aggregate of all updates."""
        found = self._aggregate(
            replies.vectors,
            clients=replies.clients,
            weights=weights_of(replies, self._weights),
            reference=replies.reference_for(0),
            memory=state.memory,
            origin=self._step.origin(state.model),
        )
        model = self._step(state.model, found.estimate, replies.extras).astype(
            state.model.dtype, copy=False
        )
        return replace(state, model=model, memory=found.memory)

    def serve(self, state: OneModel, clients: Labels) -> tuple[Array, Labels]:
        """The same to everybody."""
        return state.model[None], np.zeros(len(clients), dtype=np.int64)


def weights_of(replies: Replies, weights: Weights) -> Array | None:
    """The weights of replies; None where they are equal, or nobody says how many examples."""
    if weights == "equal" or not replies.examples.any():
        return None
    return replies.examples.astype(np.float64)
