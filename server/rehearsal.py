"""The defence as the strongest adversary sees it: a copy to try an attack on before sending it."""

from typing import Any

import numpy as np

from tagma.arrays import Array, Mask
from tagma.attacks.collusion import Rehearsal
from tagma.exchange import FIT, NO_MODEL, Replies, Request
from tagma.server.results.cluster_scores import estimation_error
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task import Truth


def rehearsal_of(
    strategy: AlgorithmStrategy[Any], truth: Truth | None, byzantine: Mask
) -> Rehearsal:
    """The estimation error after the algorithm's next step from its present state.

    Against the true models or, where nobody knows them, those that the honest clients alone would
    lead to. The algorithm is a pure state machine, so trying leaves no trace.
    """
    algorithm = strategy.algorithm

    def models(request: Request, replies: Replies) -> Array:
        state = algorithm.learn(strategy.state, request, replies)
        return algorithm.serve(state, replies.clients)[0]

    def harm(request: Request, replies: Replies) -> float:
        _, served = algorithm.serve(strategy.state, strategy.clients.numbers)
        if request.work == FIT and (served != NO_MODEL).any():
            return 0.0  # newcomers, whose local models move no cluster's
        if truth is not None and truth.centres is not None:
            return estimation_error(models(request, replies), truth.centres)
        alone = replies.only(~np.isin(replies.clients, np.flatnonzero(byzantine)))
        return estimation_error(models(request, replies), models(request, alone))

    return harm
