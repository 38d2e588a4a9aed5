from dataclasses import replace

import numpy as np

from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep
from tagma.strategies.algorithms.three_stage import ThreeStage, ThreeStageState
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.standing import Standing
from tests.strategies import driving


def by_sign(clients, local_models):
    labels = (local_models[:, 0] > 0).astype(int)
    centres = np.array([local_models[labels == k].mean(axis=0) for k in (0, 1)])
    m = len(local_models)
    return Clustering(labels, centres, np.zeros(m, bool), np.full(2, np.inf), labels[None], 0, "x")


def begin(optimiser):
    algorithm = ThreeStage(cluster=by_sign, aggregate=mean, optimiser=optimiser)
    clients = np.array([2, 5, 7, 9])
    return algorithm, driving.begin(algorithm, clients, np.array([[-1.0], [3.0], [-3.0], [5.0]]))


def test_models_start_at_the_centres():
    _, state = begin(GradientStep(step=0.5))
    assert state.models.tolist() == [[-2.0], [4.0]]
    assert [state.cluster_of(client) for client in (2, 5, 7, 9)] == [0, 1, 0, 1]
    assert state.cluster_of(3) is None
    assert state.cluster_of(10) is None


def test_a_gradient_round_steps_every_cluster_by_its_own_aggregate():
    algorithm, state = begin(GradientStep(step=0.5))
    updates = np.array([[1.0], [2.0], [3.0], [6.0]])
    state = driving.advance(algorithm, state, np.array([2, 5, 7, 9]), updates)
    assert state.models.tolist() == [[-3.0], [2.0]]


def test_a_local_round_replaces_the_model():
    algorithm, state = begin(AverageModels(step=1.0, local_steps=5))
    state = driving.advance(
        algorithm, state, np.array([2, 5, 7, 9]), np.array([[1.0], [2.0], [3.0], [6.0]])
    )
    assert state.models.tolist() == [[2.0], [4.0]]


def test_a_cluster_without_replies_keeps_its_model():
    algorithm, state = begin(GradientStep(step=1.0))
    after = driving.advance(algorithm, state, np.array([5]), np.array([[1.0]]))
    assert after.models.tolist() == [[-2.0], [3.0]]


def test_states_are_values():
    algorithm, state = begin(GradientStep(step=1.0))
    driving.advance(algorithm, state, np.array([5]), np.array([[1.0]]))
    assert state.models.tolist() == [[-2.0], [4.0]]


def test_replies_of_clients_in_quarantine_or_struck_in_this_round_do_not_count():
    algorithm, state = begin(GradientStep(step=1.0))
    quarantined, nobody = np.array([False, True, True, False]), np.zeros(4, dtype=bool)
    before = replace(state, standing=Standing.new(quarantined))
    # Client 5 is let go in this round, client 9 struck in it.
    standing = Standing(
        np.array([False, False, True, False]), np.array([0, 0, 0, 1]), nobody, np.zeros(4, int)
    )
    first, then, now = (
        ThreeStageState(np.zeros(1), clustered)
        for clustered in (None, before, replace(before, standing=standing))
    )
    clients = np.array([2, 5, 7, 9])
    assert algorithm.counted(first, then, clients).tolist() == [True, False, False, True]
    assert algorithm.counted(then, now, clients).tolist() == [True, False, False, False]
    assert algorithm.counted(then, now, np.array([2, 9])).tolist() == [True, False]
