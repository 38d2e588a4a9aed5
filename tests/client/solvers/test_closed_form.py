import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from tagma.client.solvers.closed_form import closed_form
from tagma.tasks.task import Data


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


def random_data(seed, n=12, d=4):
    source = np.random.default_rng(seed)
    return source.normal(size=(n, d)), source.normal(size=n)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (5, 5), (4, 9)])
def test_least_squares_agree_with_the_pseudo_inverse(n, d):
    inputs, targets = random_data(3, n, d)
    assert np.allclose(solve(inputs, targets).model, np.linalg.pinv(inputs) @ targets)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (4, 9)])
@pytest.mark.parametrize("ridge", [0.01, 2.0])
def test_ridge_agrees_with_scikit_learn(n, d, ridge):
    inputs, targets = random_data(4, n, d)
    reference = Ridge(alpha=n * ridge, fit_intercept=False, solver="cholesky")
    reference.fit(inputs, targets)
    assert np.allclose(solve(inputs, targets, ridge=ridge).model, reference.coef_)


SEEDS, RIDGES = st.integers(0, 1000), st.sampled_from([0.0, 0.3])


@given(seed=SEEDS, ridge=RIDGES)
def test_the_order_of_examples_does_not_matter(seed, ridge):
    inputs, targets = random_data(seed)
    order = np.random.default_rng(seed).permutation(len(targets))
    shuffled = solve(inputs[order], targets[order], ridge).model
    assert np.allclose(shuffled, solve(inputs, targets, ridge).model)


@given(seed=SEEDS, ridge=RIDGES)
def test_rotated_inputs_give_the_rotated_model(seed, ridge):
    inputs, targets = random_data(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    turned = solve(inputs @ rotation, targets, ridge).model
    assert np.allclose(turned, solve(inputs, targets, ridge).model @ rotation)


@given(seed=SEEDS, ridge=RIDGES, factor=st.floats(-50, 50))
def test_the_model_scales_with_the_targets_and_follows_an_added_model(seed, ridge, factor):
    inputs, targets = random_data(seed)
    model = solve(inputs, targets, ridge).model
    assert np.allclose(solve(inputs, factor * targets, ridge).model, factor * model)
    if not ridge:
        added = np.array([1.0, -2.0, 0.5, 3.0])
        assert np.allclose(solve(inputs, targets + inputs @ added).model, model + added)


@pytest.mark.parametrize(("n", "takes"), [(4, True), (8, True), (11, True), (12, False)])
def test_an_automatic_ridge_where_examples_are_few(n, takes):
    inputs, targets = random_data(6, n, 8)
    inputs *= 10
    ridge = 0.1 * np.trace(inputs.T @ inputs / n) / 8 if takes else 0.0
    found = solve(inputs, targets, "auto").model
    np.testing.assert_allclose(found, solve(inputs, targets, ridge).model, rtol=1e-10)
