import numpy as np

from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep
from tagma.strategies.algorithms.three_stage import ThreeStage
from tagma.strategies.clustering import Clustering
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
