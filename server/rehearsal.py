"""The defence as the strongest adversary sees it: a copy to try an attack on before sending it."""

from collections.abc import Callable

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.attacked_grid import Rehearsal
from tagma.server.results.scores import estimation_error
from tagma.strategies.algorithms.three_stage import Algorithm, State
from tagma.tasks.task import Truth


def rehearsal_of(
    algorithm: Algorithm, state: Callable[[], State | None], truth: Truth | None, byzantine: Mask
) -> Rehearsal:
    """The estimation error after the algorithm's next step from its present state.

    Against the true models or, where nobody knows them, those that the honest clients alone would
    lead to. The algorithm is a pure state machine, so trying leaves no trace.
    """

    def models(clients: Labels, updates: Array) -> Array:
        now = state()
        if now is None:
            return algorithm.begin(clients, updates).models
        return algorithm.advance(now, clients, updates).models

    def harm(clients: Labels, updates: Array) -> float:
        now = state()
        if now is not None and not np.isin(clients, now.clients).all():
            return 0.0  # newcomers, whose local models move no cluster's
        if truth is not None:
            return estimation_error(models(clients, updates), truth.centres)
        honest = ~byzantine[clients]
        return estimation_error(models(clients, updates), models(clients[honest], updates[honest]))

    return harm
