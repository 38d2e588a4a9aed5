"""The defence as the strongest adversary sees it: a copy to try an attack on before sending it."""

from typing import Any

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.collusion import Rehearsal
from tagma.exchange import FIT, Replies, Request
from tagma.server.results.scores import Seen, ServedError
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.tasks.task import Truth


def rehearsal_of(strategy: AlgorithmRun[Any], truth: Truth | None, byzantine: Mask) -> Rehearsal:
    """The served error after the algorithm's next step from its present state.

    Against the true models or, where nobody knows them, those that the honest clients alone would
    lead to. The algorithm is a pure state machine, so trying leaves no trace.
    """
    algorithm, start = strategy.algorithm, strategy.first_state
    everyone = np.arange(len(byzantine))
    served_error = ServedError(strategy.initial)

    def served(request: Request, replies: Replies) -> tuple[Array, Labels]:
        # Local models are forged alike in round 1, when a client comes later, and after a resume,
        # when everybody introduces himself again: else nobody would be recognised.
        state = start if request.work == FIT else strategy.state
        return algorithm.serve(algorithm.learn(state, request, replies), everyone)

    def harm(request: Request, replies: Replies) -> float:
        if request.work == FIT and not np.isin(strategy.clients.numbers, replies.clients).all():
            return 0.0  # newcomers, whose local models move no cluster's
        models, which = served(request, replies)
        right = truth
        if right is None or right.centres is None:
            alone = replies.only(~np.isin(replies.clients, np.flatnonzero(byzantine)))
            centres, labels = served(request, alone)
            right = Truth(labels, centres)
        error = served_error(Seen(everyone, models, which, right, byzantine, {}))
        return np.inf if error is None else error

    return harm
