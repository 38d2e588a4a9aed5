"""The iterative federated clustering algorithm, IFCA (Ghosh, Chung, Yin, Ramchandran, 2020).

The server keeps K models and sends all of them to every client. Each client finds the one with the
least loss on its own data, answers with its update of that one, and says which it was. Every model
moves by the aggregate of those who chose it; with a robust rule this is BRIFCA. K must be given. A
client can claim any choice: membership is its own word. Costs K models per client and round.

The models start around the initial one, at a distance of `spread` times its length (of 1 per entry
where it is zero): models that start alike would be chosen at random. Two may still end in one
cluster, and another cluster without one; another seed may help.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from tagma.arrays import Array, Labels
from tagma.exchange import CHOICE, NO_MODEL, Expected, Replies, Request, rows_of
from tagma.rng import stream
from tagma.strategies.aggregation import Aggregator, Memory
from tagma.strategies.aggregation.rule_verdicts import watched
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.fedavg import Weights, weights_of
from tagma.strategies.algorithms.server_step import ServerStep


@dataclass(frozen=True)
class Choices:
    """The models, shape (K, d), and what each client that ever answered chose last."""

    models: Array
    clients: Labels
    """In ascending order, shape (m,)."""
    chosen: Labels
    """Shape (m,)."""
    memories: tuple[Memory | None, ...]
    """What the rule remembers of every model."""


class IFCA(AlgorithmBase[Choices]):
    """K models, of which every client chooses one."""

    def __init__(
        self,
        *,
        aggregate: Aggregator,
        optimiser: ServerStep,
        k: Annotated[int, Ge(1)],
        spread: Annotated[float, Gt(0)] = 1.0,
        weights: Weights = "equal",
        seed: int,
    ) -> None:
        self._aggregate = watched(aggregate)
        self._step = optimiser
        self._k = k
        self._spread = spread
        self._weights = weights
        self._seed = seed

    def start(self, initial: Array) -> Choices:
        """K models around the initial one."""
        noise = [
            stream(self._seed, "ifca", k).standard_normal(len(initial)) for k in range(self._k)
        ]
        scale = float(np.sqrt(np.mean(np.square(initial, dtype=np.float64)))) or 1.0
        models = initial + self._spread * scale * np.array(noise)
        nobody = np.empty(0, dtype=np.int64)
        return Choices(models.astype(initial.dtype), nobody, nobody, (None,) * self._k)

    def ask(self, state: Choices, round_number: int, clients: Labels) -> Request:
        """All models to everybody: an update of the one that fits best, and which it was."""
        choice = Expected(0, self._k - 1, whole=True)
        return self._step.request(clients, state.models, None, expects={CHOICE: choice})

    def learn(self, state: Choices, request: Request, replies: Replies) -> Choices:
        """Every model moves by the aggregate of those who chose it."""
        chosen = replies.extras[CHOICE].astype(np.int64)
        models, memories = state.models.copy(), list(state.memories)
        for k in np.unique(chosen):
            own = replies.only(chosen == k)
            found = self._aggregate(
                own.vectors,
                clients=own.clients,
                weights=weights_of(own, self._weights),
                reference=replies.reference_for(k),
                memory=memories[k],
                origin=self._step.origin(models[k]),
            )
            models[k] = self._step(models[k], found.estimate, own.extras)
            memories[k] = found.memory
        known = np.union1d(state.clients, replies.clients)
        last = np.full(len(known), NO_MODEL)
        last[np.searchsorted(known, state.clients)] = state.chosen
        last[np.searchsorted(known, replies.clients)] = chosen
        return Choices(models, known, last, tuple(memories))

    def serve(self, state: Choices, clients: Labels) -> tuple[Array, Labels]:
        """To everybody what it chose last."""
        return state.models, rows_of(clients, state.clients, state.chosen)
