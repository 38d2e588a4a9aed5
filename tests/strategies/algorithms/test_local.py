"""Everybody alone, by hand."""

import numpy as np

from tagma.exchange import FIT, NO_MODEL, Replies
from tagma.strategies.algorithms.local import Local
from tagma.strategies.algorithms.server_step import GradientStep

CLIENTS = np.array([2, 5])


def replies(clients, vectors):
    return Replies(np.array(clients), np.array(vectors), np.ones(len(clients), dtype=np.int64))


def begun():
    algorithm = Local(optimiser=GradientStep(step=1.0))
    state = algorithm.start(np.zeros(1))
    request = algorithm.ask(state, 1, CLIENTS)
    assert request.work == FIT
    return algorithm, algorithm.learn(state, request, replies([2, 5], [[1.0], [7.0]]))


def test_everybody_goes_on_from_its_own_model():
    algorithm, state = begun()
    request = algorithm.ask(state, 2, CLIENTS)
    assert request.received(CLIENTS).tolist() == [[1.0], [7.0]]
    state = algorithm.learn(state, request, replies([5], [[3.0]]))
    models, which = algorithm.serve(state, CLIENTS)
    assert models[which].tolist() == [[1.0], [4.0]]


def test_a_newcomer_begins_with_its_local_model():
    algorithm, state = begun()
    assert algorithm.introduce(state, np.array([0])).work == FIT
    state = algorithm.admit(state, 3, replies([3], [[9.0]]))
    models, which = algorithm.serve(state, np.array([2, 3, 4, 5]))
    assert which.tolist() == [0, 1, NO_MODEL, 2]
    assert models[:, 0].tolist() == [1.0, 9.0, 7.0]


def test_a_client_is_recognised_by_the_local_model_that_it_began_with():
    algorithm, state = begun()
    state = algorithm.learn(state, algorithm.ask(state, 2, CLIENTS), replies([5], [[3.0]]))
    assert algorithm.recognises(state, 5, np.array([7.0]))
    assert not algorithm.recognises(state, 5, np.array([4.0]))  # its model now
    assert not algorithm.recognises(state, 2, np.array([7.0]))
    assert not algorithm.recognises(state, 3, np.array([7.0]))
