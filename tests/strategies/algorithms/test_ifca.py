"""K models and the choices of clients, by hand."""

import numpy as np
import pytest

from tagma.exchange import CHOICE, NO_MODEL, Replies
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.ifca import IFCA
from tagma.strategies.algorithms.server_step import AverageModels

CLIENTS = np.array([1, 4, 6])


def make(**settings):
    step = AverageModels(step=1.0, local_steps=1)
    return IFCA(aggregate=mean, optimiser=step, **{"k": 3, "seed": 0} | settings)


def learn(algorithm, state, clients, vectors, choices):
    clients = np.array(clients)
    request = algorithm.ask(state, 1, clients)
    given = {CHOICE: np.array(choices, dtype=float)}
    ones = np.ones(len(clients), dtype=np.int64)
    return algorithm.learn(state, request, Replies(clients, np.array(vectors), ones, given))


def test_everybody_gets_all_models_and_must_choose():
    algorithm = make()
    request = algorithm.ask(algorithm.start(np.zeros(2)), 1, CLIENTS)
    assert request.which is None
    assert request.models.shape == (3, 2)
    assert (request.expects[CHOICE].low, request.expects[CHOICE].high) == (0, 2)


def test_a_model_moves_by_those_who_chose_it_and_stays_if_nobody_did():
    algorithm = make()
    before = algorithm.start(np.zeros(2))
    after = learn(algorithm, before, CLIENTS, [[2.0, 0.0], [4.0, 0.0], [9.0, 9.0]], [0, 0, 2])
    assert after.models[0].tolist() == [3.0, 0.0]
    assert after.models[1].tolist() == before.models[1].tolist()
    assert after.models[2].tolist() == [9.0, 9.0]


def test_a_client_is_served_what_it_chose_last():
    algorithm = make()
    state = algorithm.start(np.zeros(1))
    assert algorithm.serve(state, CLIENTS)[1].tolist() == [NO_MODEL] * 3
    state = learn(algorithm, state, [1, 4], [[1.0], [1.0]], [2, 0])
    state = learn(algorithm, state, [4, 6], [[1.0], [1.0]], [1, 1])
    assert algorithm.serve(state, np.array([1, 4, 5, 6]))[1].tolist() == [2, 1, NO_MODEL, 1]


def test_models_start_apart_in_the_precision_of_the_initial_one():
    models = make(spread=0.1).start(np.full(1000, 5.0, dtype=np.float32)).models
    assert models.dtype == np.float32
    assert np.std(models[0] - 5) == pytest.approx(0.5, rel=0.1)
    assert not np.array_equal(models[0], models[1])


def test_models_around_zero_start_apart_too():
    assert np.std(make().start(np.zeros(1000)).models[0]) == pytest.approx(1.0, rel=0.1)


def test_a_single_model_is_chosen_by_everybody(run_small):
    metrics = run_small("strategy=ifca", "strategy.k=1", "attack=none")
    assert [cluster["size"] for cluster in metrics["clusters"]] == [20]
    assert metrics["replies"]["rejected"] == {}
