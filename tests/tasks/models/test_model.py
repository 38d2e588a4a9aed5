import numpy as np
import pytest

from tagma.tasks.models.model import Problem, measured

TWO, THREE, NUMBER = Problem((4,), 2), Problem((4,), 3), Problem((4,), 1, "regression")


def test_what_is_measured_and_which_way_is_good():
    assert THREE.metrics == {"accuracy": "high", "loss": "low"}
    assert TWO.metrics == {"accuracy": "high", "auc": "high", "loss": "low"}
    assert NUMBER.metrics == {"r2": "high", "loss": "low"}


def test_accuracy_by_hand():
    scores = np.array([[3.0, 1, 2], [0, 5, 4], [0, 1, 9], [7, 0, 0]])
    assert measured(THREE, scores, np.array([0, 1, 1, 2])) == {"accuracy": 0.5}


def test_auc_by_hand_with_a_tie():
    """Of the pairs (positive, negative): 2 > 1, 2 > 0, 1 = 1, 1 > 0."""
    scores = np.array([[0, 2.0], [0, 1], [0, 1], [0, 0]])
    found = measured(TWO, scores, np.array([1, 1, 0, 0]))
    assert found["auc"] == pytest.approx(3.5 / 4)
    assert found["accuracy"] == 0.75


def test_r2_by_hand():
    found = measured(NUMBER, np.array([1.0, 2, 4]), np.array([1.0, 2, 3]))
    assert found == {"r2": pytest.approx(0.5)}


@pytest.mark.parametrize("problem", [TWO, THREE, NUMBER])
def test_nothing_is_known_of_nothing(problem):
    found = measured(problem, np.empty((0, problem.outputs)), np.empty(0))
    assert all(np.isnan(value) for value in found.values())


def test_what_means_nothing_is_no_number():
    assert np.isnan(measured(TWO, np.zeros((3, 2)), np.ones(3))["auc"])
    assert np.isnan(measured(NUMBER, np.zeros(3), np.ones(3))["r2"])
    assert np.isnan(measured(TWO, np.full((2, 2), np.nan), np.array([0, 1]))["auc"])
