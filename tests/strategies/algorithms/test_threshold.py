"""Threshold clustering, by hand."""

import numpy as np
import pytest

from tagma.exchange import NO_MODEL, Replies
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep
from tagma.strategies.algorithms.threshold import Threshold, threshold_means


def learn(algorithm, state, vectors):
    """A round in which these clients answer, by number."""
    clients = np.array(sorted(vectors))
    request = algorithm.ask(state, 1, clients)
    found = np.array([vectors[client] for client in clients.tolist()], dtype=np.float64)
    return algorithm.learn(state, request, Replies(clients, found, np.ones_like(clients)))


def test_the_near_half_counts_and_the_rest_stands_where_the_centre_is():
    # Around 0 the near ones are 0 and 1: (0 + 1 + 0 + 0) / 4. Around 10 they are 10 and 8.
    points = np.array([[0.0], [1.0], [8.0], [10.0]])
    once = threshold_means(points, 0.5, 1)
    assert once.ravel() == pytest.approx([0.25, 0.75, 8.5, 9.5])
    # Again around 1/4: (0 + 1 + 1/4 + 1/4) / 4.
    twice = threshold_means(points, 0.5, 2)
    assert twice.ravel() == pytest.approx([0.375, 0.625, 8.75, 9.25])


def test_many_iterations_find_the_mean_of_the_near_ones():
    points = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [7.0, 0.0]])
    means = threshold_means(points, 0.5, 100)
    assert means == pytest.approx(np.array([[0, 2], [0, 2], [6, 0], [6, 0]]))


@pytest.mark.parametrize("far", [1e3, 1e100])
def test_who_is_far_away_moves_nobody(far):
    honest = np.array([[0.0], [1.0], [2.0], [3.0]])
    moved = threshold_means(np.append(honest, [[far]], axis=0), 0.4, 3)[:4]
    assert moved == pytest.approx(threshold_means(np.append(honest, [[-far]], axis=0), 0.4, 3)[:4])
    assert np.abs(moved - honest).max() <= 1


def test_every_client_moves_by_its_own_estimate():
    algorithm = Threshold(
        optimiser=GradientStep(step=2.0), momentum=0.5, quantile=0.5, iterations=1
    )
    vectors = {1: [0.0], 2: [1.0], 5: [8.0], 7: [10.0]}
    state = learn(algorithm, algorithm.start(np.array([100.0])), vectors)
    models, which = algorithm.serve(state, np.array([1, 2, 3, 5, 7]))
    assert which.tolist() == [0, 1, NO_MODEL, 2, 3]
    assert models.ravel() == pytest.approx([99.5, 98.5, 83.0, 81.0])
    # Half of the old momentum and half of the new: 0, 1, 8, 10 again, but for client 2: 3.
    state = learn(algorithm, state, vectors | {2: [5.0]})
    assert state.momenta.ravel().tolist() == [0, 3, 8, 10]
    # Around 3 the near ones are 3 and 0: (3 + 0 + 3 + 3) / 4 = 9/4.
    assert state.models.ravel() == pytest.approx([99.5 - 1.5, 98.5 - 4.5, 83 - 17, 81 - 19])


def test_trained_models_are_ways_from_what_was_received():
    algorithm = Threshold(
        optimiser=AverageModels(step=1.0, local_steps=1), momentum=0, quantile=1, iterations=1
    )
    state = learn(algorithm, algorithm.start(np.array([10.0])), {1: [12.0], 2: [16.0]})
    assert state.models.ravel() == pytest.approx([14, 14])
    assert state.momenta.ravel().tolist() == [-2, -6]


def test_who_is_away_keeps_its_model_and_who_is_late_begins_at_the_initial_one():
    algorithm = Threshold(optimiser=GradientStep(step=1.0), momentum=0, quantile=1, iterations=1)
    state = learn(algorithm, algorithm.start(np.zeros(1)), {4: [2.0], 6: [4.0]})
    assert state.models.ravel().tolist() == [-3, -3]
    request = algorithm.ask(state, 2, np.array([2, 6]))
    assert request.models[request.which].ravel().tolist() == [0, -3]
    state = learn(algorithm, state, {2: [1.0], 6: [3.0]})
    assert state.clients.tolist() == [2, 4, 6]
    assert state.models.ravel().tolist() == [-2, -3, -5]


@pytest.mark.parametrize("attack", [["none"], ["sign_flip", "attack.fraction=0.2"]])
def test_similar_clients_help_each_other(attack, run_small):
    choice, *settings = attack
    common = (f"attack={choice}", *settings, "task.dim=20", "task.noise=1", "rounds=15")
    alone = run_small("strategy=local", *common)
    together = run_small("strategy=threshold", "strategy.quantile=0.4", *common)
    assert together["served_error"] < 0.8 * alone["served_error"]
