"""Splits of clusters, by hand."""

import numpy as np
import pytest

from tagma.exchange import NO_MODEL, Replies
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.cfl import CFL
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep

EAST, WEST, NORTH = [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]


def make(optimiser=None, **settings):
    return CFL(aggregate=mean, optimiser=optimiser or GradientStep(step=1.0), **settings)


def learn(algorithm, state, vectors):
    """A round in which these clients answer, by number."""
    clients = np.array(sorted(vectors))
    request = algorithm.ask(state, 1, clients)
    found = np.array([vectors[client] for client in clients.tolist()])
    return algorithm.learn(state, request, Replies(clients, found, np.ones_like(clients)))


def which(algorithm, state, clients):
    return algorithm.serve(state, np.array(clients))[1].tolist()


TWO = {1: EAST, 2: EAST, 5: WEST, 7: WEST}


@pytest.fixture
def split():
    """An algorithm and its state after the first split, into 1, 2 and 5, 7."""
    algorithm = make()
    state = learn(algorithm, algorithm.start(np.zeros(2)), TWO)
    return algorithm, learn(algorithm, state, TWO)


def test_clients_who_disagree_are_split_in_the_round_after(split):
    algorithm, state = split
    assert which(algorithm, state, [1, 2, 5, 7]) == [0, 0, 1, 1]
    assert state.models.tolist() == [[0, 0], [0, 0]]
    assert not algorithm.everyone(state, 3)
    state = learn(algorithm, state, TWO)
    assert state.models.tolist() == [WEST, EAST]  # against their gradients


def test_the_round_that_splits_asks_all():
    algorithm = make()
    state = learn(algorithm, algorithm.start(np.zeros(2)), TWO)
    assert len(state.models) == 1
    assert algorithm.everyone(state, 2)


def test_models_split_as_gradients_do():
    algorithm = make(AverageModels(step=1.0, local_steps=1))
    state = algorithm.start(np.full(2, 3.0))
    for _ in range(2):
        state = learn(algorithm, state, {1: [4, 3], 2: [4, 3], 5: [2, 3]} | {6: [2, 3]})
    assert which(algorithm, state, [1, 2, 5, 6]) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "vectors",
    [
        {1: EAST, 2: EAST, 5: EAST},  # they agree
        {1: EAST, 2: EAST, 5: NORTH},  # they move on
    ],
)
def test_a_cluster_that_moves_stays_whole(vectors):
    algorithm = make()
    state = algorithm.start(np.zeros(2))
    for _ in range(3):
        state = learn(algorithm, state, vectors)
    assert len(state.models) == 1


def test_clients_who_hardly_want_to_move_stay_together():
    algorithm = make(eps2=0.6)
    state = learn(algorithm, algorithm.start(np.zeros(2)), {1: EAST, 2: EAST})
    for _ in range(3):
        state = learn(algorithm, state, {1: [0.5, 0], 2: [-0.5, 0]})
    assert len(state.models) == 1
    for _ in range(2):
        state = learn(algorithm, state, {1: [0.7, 0], 2: [-0.7, 0]})
    assert len(state.models) == 2


def test_halves_that_are_too_near_for_their_noise_stay_together():
    near = {1: [1, 0], 2: [-0.5, 0.75**0.5], 5: [-0.5, -(0.75**0.5)]}  # cos = -1/2: sqrt(3/4)
    for gamma, clusters in ((0.86, 2), (0.87, 1)):
        algorithm = make(gamma=gamma)
        state = algorithm.start(np.zeros(2))
        for _ in range(2):
            state = learn(algorithm, state, near)
        assert len(state.models) == clusters


def test_a_cluster_is_split_again(split):
    algorithm, state = split
    four = {1: [0.0, 1.0], 2: [0.0, -1.0], 5: WEST, 7: WEST}
    state = learn(algorithm, learn(algorithm, state, four), four)
    assert which(algorithm, state, [1, 2, 5, 7]) == [0, 2, 1, 1]


def test_who_comes_later_joins_the_client_that_it_resembles(split):
    algorithm, state = split
    assert which(algorithm, state, [1, 3, 4]) == [0, NO_MODEL, NO_MODEL]
    request = algorithm.ask(state, 3, np.array([1, 3, 5]))
    assert request.which.tolist() == [0, 2, 1]
    assert request.models[2].tolist() == [0, 0]  # what was split
    state = learn(algorithm, state, TWO | {3: [-2.0, 1.0], 4: [3.0, 1.0]})
    assert which(algorithm, state, [3, 4]) == [1, 0]
    assert state.models.tolist() == [WEST, EAST]  # newcomers moved nothing


def test_who_was_away_at_a_split_is_placed_like_who_comes_later(split):
    algorithm, state = split
    parts = {1: [0.0, 1.0], 5: WEST, 7: WEST}
    state = learn(algorithm, state, parts | {2: [0.0, -1.0]})
    state = learn(algorithm, state, parts | {2: [0.0, -1.0]} | {9: EAST})
    assert which(algorithm, state, [1, 2, 5, 7]) == [0, 2, 1, 1]
    algorithm = make()
    state = algorithm.start(np.zeros(2))
    state = learn(algorithm, state, TWO | {9: WEST, 10: EAST})
    state = learn(algorithm, state, TWO)
    assert which(algorithm, state, [9, 10]) == [NO_MODEL, NO_MODEL]
    state = learn(algorithm, state, TWO | {9: WEST, 10: EAST})
    assert which(algorithm, state, [9, 10]) == [1, 0]


def test_clusters_of_a_federation_are_found(run_small):
    metrics = run_small("strategy=cfl", "attack=none", "aggregation=mean", "task.noise=0.5")
    assert [cluster["size"] for cluster in metrics["clusters"]] == [10, 10]
    assert metrics["misclustering"] == 0
