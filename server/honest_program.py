"""What Byzantine clients would answer if they were honest, to models that they were not sent.

Clients that collude act on the server's side (`tagma.attacks.collusion`). One that claims a false
local model answers as if its own loss were moved so that the claim is its minimiser: what it
honestly answers to a model that is moved back. So its data are made here once more.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels
from tagma.attacks.collusion import HonestProgram
from tagma.client.local_client import LocalClient, make_client
from tagma.exchange import Request
from tagma.settings import Settings
from tagma.strategies.algorithm_run import AlgorithmRun

_KEPT = 256
"""Clients whose data are kept from round to round."""


def honest_program_of(strategy: AlgorithmRun[Any], settings: Settings) -> HonestProgram:
    """The clients' own program, on the data that the settings give them."""

    @lru_cache(maxsize=_KEPT)
    def client_of(number: int) -> LocalClient:
        return make_client(settings, number)

    def answers(round_number: int, request: Request, clients: Labels, models: Array) -> Array:
        sent = []
        rows = np.zeros_like(clients) if request.which is None else request.rows(clients)
        for client, row, model in zip(clients.tolist(), rows.tolist(), models, strict=True):
            received = model, strategy.buffers_sent(request, row)
            answer = client_of(client).answer(
                request.work, received, round_number, request.settings
            )
            sent.append(answer.vector)
        return np.array(sent)

    return answers
