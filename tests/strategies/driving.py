"""The three-stage algorithm driven on arrays: what a server would do with replies in hand."""

import numpy as np

from tagma.exchange import Replies
from tagma.strategies.algorithms.three_stage import ThreeStageState


def replies(clients, vectors):
    clients = np.asarray(clients)
    return Replies(clients, np.asarray(vectors), np.ones(len(clients), dtype=np.int64))


def begin(algorithm, clients, local_models):
    """What is known after stage II."""
    state = algorithm.start(np.zeros(local_models.shape[1]))
    request = algorithm.ask(state, 1, clients)
    return algorithm.learn(state, request, replies(clients, local_models)).clustered


def advance(algorithm, clustered, clients, updates):
    """What is known after one more round."""
    state = ThreeStageState(np.zeros(updates.shape[1]), clustered)
    request = algorithm.ask(state, 2, np.asarray(clients))
    return algorithm.learn(state, request, replies(clients, updates)).clustered


def admit(algorithm, clustered, client, local_model, round_number):
    """What is known when one more client has come."""
    state = ThreeStageState(np.zeros(len(local_model)), clustered)
    newcomer = replies([client], local_model[None])
    return algorithm.admit(state, round_number, newcomer).clustered
