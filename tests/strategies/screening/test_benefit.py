"""Whether clusters explain how clients differ."""

import numpy as np
import pytest

from tagma.exchange import HALF
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.server_step import AverageModels
from tagma.strategies.algorithms.three_stage import ThreeStage, ThreeStageState
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.benefit import LIMIT, Differences, differences, likeness
from tests.strategies.driving import advance, begin

CLIENTS = np.arange(6)


def test_differences_are_from_the_other_clients_of_the_cluster_and_of_directions():
    changes = np.array([[2.0, 0], [0, 5], [3, 0], [7, 7]])
    found = differences(np.array([1, 4, 5, 9]), changes, np.array([0, 0, 0, 1]))
    assert found.clients.tolist() == [1, 4, 5]  # the last one has nobody to differ from
    np.testing.assert_allclose(found.rows, [[0.5, -0.5], [-1, 1], [0.5, -0.5]])


def test_likeness_is_the_median_over_clients_that_were_in_both_rounds():
    one = Differences(np.array([0, 1, 2, 3, 9]), np.eye(5)[:, :2] + 1)
    same = Differences(np.array([0, 1, 2, 3]), one.rows[:4] * [[1], [1], [1], [-1]])
    assert likeness(one, same) == pytest.approx(1)
    assert likeness(one, Differences(same.clients[:3], same.rows[:3])) is None


def in_two_clusters(clients, local_models):
    labels = clients % 2
    centres = np.array([local_models[labels == k].mean(axis=0) for k in (0, 1)])
    nobody = np.zeros(len(labels), dtype=bool)
    return Clustering(labels, centres, nobody, np.full(2, 9.0), labels[None], 0, "by hand")


def after_two_halves(own, other):
    """The state after clients changed their model by these rows in two rounds."""
    algorithm = ThreeStage(
        cluster=in_two_clusters,
        aggregate=mean,
        optimiser=AverageModels(step=1.0, local_steps=1),
        of_changes=True,
        where_helpful=True,
    )
    local_models = np.where(CLIENTS[:, None] % 2, 1.0, -1.0) * np.eye(8)[0] + 0.01 * own
    state = begin(algorithm, CLIENTS, local_models)
    for changes in (own, other):
        assert not state.judged
        state = advance(algorithm, state, CLIENTS, state.models[state.labels] + changes)
    assert state.judged
    return algorithm, state


def noise(seed):
    return np.random.default_rng(seed).normal(size=(6, 8))


def test_clusters_stay_where_halves_of_the_data_differ_by_chance():
    _, state = after_two_halves(noise(0), noise(1))
    assert abs(state.likeness) < LIMIT
    assert not state.single
    assert len(state.models) == 2


def test_where_clients_differ_within_clusters_alike_on_both_halves_there_is_one_model():
    algorithm, state = after_two_halves(noise(0), noise(0))
    assert state.likeness == pytest.approx(1)
    assert state.single
    assert state.labels.tolist() == [0] * 6
    assert len(state.models) == state.clustering.k == 1
    assert not state.standing.quarantined.any()
    after = advance(algorithm, state, CLIENTS, state.models[state.labels] + noise(2))
    assert len(after.models) == 1


def test_clients_train_on_each_half_once_and_all_are_asked():
    algorithm, state = after_two_halves(noise(0), noise(1))
    whole = ThreeStageState(np.zeros(8), state)
    assert HALF not in algorithm.ask(whole, 4, CLIENTS).settings
    assert not algorithm.everyone(whole, 4)
    start = ThreeStageState(np.zeros(8), begin(algorithm, CLIENTS, noise(3)))
    request = algorithm.ask(start, 2, CLIENTS)
    assert request.settings[HALF] == 1
    assert algorithm.everyone(start, 2)
    between = ThreeStageState(np.zeros(8), advance(algorithm, start.clustered, CLIENTS, noise(4)))
    assert algorithm.ask(between, 3, CLIENTS).settings[HALF] == 2
