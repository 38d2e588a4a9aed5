"""No federation: every client trains on its own. What everybody has without the others.

Round 1 asks for local models, later rounds for updates of each client's own. Nobody is averaged
with anybody, so nobody can be harmed, or helped. Who comes back is recognised by the local model
that it began with.
"""

from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels
from tagma.exchange import FIT, NO_MODEL, Replies, Request, rows_of
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.local_models import is_same_model
from tagma.strategies.algorithms.server_step import ServerStep


@dataclass(frozen=True)
class OwnModels:
    """One model per client."""

    initial: Array
    clients: Labels
    """In ascending order, shape (m,)."""
    local_models: Array
    """What they began with, shape (m, d)."""
    models: Array
    """Shape (m, d)."""


class Local(AlgorithmBase[OwnModels]):
    """As many models as clients."""

    def __init__(self, *, optimiser: ServerStep) -> None:
        self._step = optimiser

    def start(self, initial: Array) -> OwnModels:
        """Nobody has a model yet."""
        nobody = initial[None][:0]
        return OwnModels(initial, np.empty(0, dtype=np.int64), nobody, nobody)

    def introduce(self, state: OwnModels, clients: Labels) -> Request:
        """The local model of everybody who has none."""
        return Request(FIT, clients, state.initial[None], np.zeros(len(clients), dtype=np.int64))

    def ask(self, state: OwnModels, round_number: int, clients: Labels) -> Request:
        """Local models first, then updates of them."""
        if not len(state.clients):
            return self.introduce(state, clients)
        models, which = self.serve(state, clients)
        has = which != NO_MODEL
        return self._step.request(clients[has], models, which[has])

    def learn(self, state: OwnModels, request: Request, replies: Replies) -> OwnModels:
        """Everybody's own model, from its own reply."""
        if request.work == FIT:
            return self.admit(state, 1, replies)
        models = state.models.copy()
        for reply, row in enumerate(request.rows(replies.clients)):
            models[row] = self._step(models[row], replies.vectors[reply], replies.told_by(reply))
        return replace(state, models=models)

    def admit(self, state: OwnModels, round_number: int, replies: Replies) -> OwnModels:
        """Newcomers begin with their local models."""
        clients = np.concatenate([state.clients, replies.clients])
        order = np.argsort(clients)
        local_models = np.concatenate([state.local_models, replies.vectors])[order]
        models = np.concatenate([state.models, replies.vectors])[order]
        return OwnModels(state.initial, clients[order], local_models, models)

    def recognises(self, state: OwnModels, client: int, vector: Array) -> bool:
        """Who comes back sends the local model that it began with."""
        (row,) = rows_of(np.array([client]), state.clients, np.arange(len(state.clients)))
        return row != NO_MODEL and is_same_model(state.local_models[row], vector)

    def serve(self, state: OwnModels, clients: Labels) -> tuple[Array, Labels]:
        """To everybody its own."""
        return state.models, rows_of(clients, state.clients, np.arange(len(state.clients)))
