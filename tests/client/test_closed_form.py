import numpy as np
import pytest

from client.solvers.closed_form import closed_form
from tasks.task import Data


def solve(inputs, targets, ridge=0.0):
    return closed_form(None, Data(np.array(inputs), np.array(targets)), ridge=ridge)


def test_least_squares_by_hand():
    solution = solve([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [3.0, 4.0, 9.0])
    assert np.allclose(solution.model, [3.0, 2.0])
    assert solution.stopped == "solved"


def test_fewer_examples_than_coefficients_give_the_solution_of_least_norm():
    solution = solve([[1.0, 1.0]], [2.0])
    assert np.allclose(solution.model, [1.0, 1.0])
    assert solution.stopped == "solved, least norm of many"


def test_least_norm_agrees_with_the_pseudo_inverse():
    source = np.random.default_rng(1)
    inputs, targets = source.normal(size=(6, 10)), source.normal(size=6)
    assert np.allclose(solve(inputs, targets).model, np.linalg.pinv(inputs) @ targets)


def test_ill_conditioned_data_keep_their_digits():
    source = np.random.default_rng(2)
    inputs = source.normal(size=(50, 3)) @ np.diag([1.0, 1e-4, 1e-7])
    model = np.array([1.0, 2.0, 3.0])
    assert np.allclose(solve(inputs, inputs @ model).model, model, rtol=1e-6)


def test_ridge_minimises_the_penalised_mean_loss():
    solution = solve([[1.0], [1.0]], [2.0, 2.0], ridge=1.0)
    assert solution.model[0] == pytest.approx(1.0)
