import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tagma.client.solvers.lbfgs import lbfgs
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.mixture_logistic import MixtureLogistic
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data

ROOT = Path(__file__).parents[3]


def make(kind, dim, samples=50, seed=1, **more):
    shared = {"clients": 2, "clusters": 1, "dim": dim, "samples": samples, "seed": seed}
    if kind == "regression":
        return MixtureRegression(**shared, noise=1.0)
    if kind == "huber":
        return MixtureHuber(**shared, **({"noise": 1.0, "freedom": 1.5, "delta": 1.0} | more))
    return MixtureLogistic(**shared, scale=1.0)


def solve(task, data, tolerance=1e-8, iterations=500, ridge=0.0):
    return lbfgs(task, data, tolerance=tolerance, iterations=iterations, ridge=ridge)


def column(*targets):
    return Data(np.ones((len(targets), 1)), np.array(targets))


def test_squared_loss_by_hand():
    data = Data(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([3.0, 4.0, 9.0]))
    assert np.allclose(solve(make("regression", 2), data).model, [3.0, 2.0])


def test_logistic_loss_by_hand():
    """Three ones of four: the logarithm of the odds is log 3."""
    solution = solve(make("logistic", 1), column(1.0, 1.0, 1.0, 0.0))
    assert solution.model[0] == pytest.approx(np.log(3))


def test_huber_loss_by_hand():
    """The slopes w, w and -1 (of the target far away) sum to 0 at 1/2."""
    solution = solve(make("huber", 1), column(0.0, 0.0, 10.0))
    assert solution.model[0] == pytest.approx(0.5)


def test_ridge_by_hand():
    solution = solve(make("regression", 1), column(2.0, 2.0), ridge=1.0)
    assert solution.model[0] == pytest.approx(1.0)


@pytest.mark.parametrize("samples", [60, 8])
def test_squared_loss_agrees_with_least_squares_also_below_n_equals_d(samples):
    task = make("regression", 20, samples)
    data = task.train(0)
    reference = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    assert np.allclose(solve(task, data).model, reference, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_logistic_loss_agrees_with_scikit_learn(ridge):
    task = make("logistic", 5, 300)
    data = task.train(0)
    strength = 1 / (ridge * 300) if ridge else np.inf
    reference = LogisticRegression(C=strength, fit_intercept=False, tol=1e-10, max_iter=1000)
    reference.fit(data.inputs, data.targets)
    assert np.allclose(solve(task, data, ridge=ridge).model, reference.coef_[0], atol=1e-5)


def test_huber_loss_agrees_with_reweighted_least_squares():
    task = make("huber", 5, 200, delta=0.7)
    data = task.train(0)
    reference = np.zeros(5)
    for _ in range(500):
        residuals = data.targets - data.inputs @ reference
        weights = 0.7 / np.maximum(np.abs(residuals), 0.7)
        weighted = data.inputs * weights[:, None]
        reference = np.linalg.solve(weighted.T @ data.inputs, weighted.T @ data.targets)
    assert np.allclose(solve(task, data).model, reference, atol=1e-6)


KINDS = st.sampled_from(["regression", "logistic", "huber"])


@settings(max_examples=25, deadline=None)
@given(kind=KINDS, seed=st.integers(0, 1000), ridge=st.sampled_from([0.01, 0.3]))
def test_the_order_of_examples_does_not_matter(kind, seed, ridge):
    task = make(kind, 4, seed=seed)
    data = task.train(0)
    order = np.random.default_rng(seed).permutation(len(data.targets))
    shuffled = Data(data.inputs[order], data.targets[order])
    straight, mixed = (solve(task, d, ridge=ridge).model for d in (data, shuffled))
    assert np.allclose(straight, mixed, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(kind=KINDS, seed=st.integers(0, 1000))
def test_rotated_inputs_give_the_rotated_model(kind, seed):
    task = make(kind, 4, seed=seed)
    data = task.train(0)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    rotated = Data(data.inputs @ rotation, data.targets)
    straight, turned = (solve(task, d, ridge=0.05).model for d in (data, rotated))
    assert np.allclose(straight @ rotation, turned, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(factor=st.floats(-50, 50), seed=st.integers(0, 1000))
def test_the_model_of_squared_loss_scales_with_the_targets(factor, seed):
    task = make("regression", 4, seed=seed)
    data = task.train(0)
    scaled = Data(data.inputs, factor * data.targets)
    assert np.allclose(solve(task, scaled).model, factor * solve(task, data).model, atol=1e-5)


def test_at_the_gradient_tolerance_no_entry_of_the_gradient_exceeds_it():
    task = make("logistic", 5, 300)
    data = task.train(0)
    for tolerance in (1e-2, 1e-4, 1e-6):
        solution = solve(task, data, tolerance=tolerance)
        assert solution.stopped == "gradient tolerance"
        assert np.abs(task.gradient(solution.model, data)).max() <= tolerance


def test_the_iteration_limit_is_kept_and_named():
    task = make("logistic", 5, 300)
    solution = solve(task, task.train(0), iterations=2)
    assert (solution.iterations, solution.stopped) == (2, "iteration limit")


def test_a_tolerance_that_rounding_forbids_is_not_claimed():
    task = make("huber", 20, 200)
    assert solve(task, task.train(0), tolerance=1e-300).stopped == "no further decrease found"


def test_separable_labels_give_a_finite_model_whose_length_the_tolerance_sets():
    task, data = make("logistic", 1), column(1.0, 1.0, 1.0)
    loose, tight = (solve(task, data, tolerance=t).model[0] for t in (1e-3, 1e-6))
    assert 5 < loose < tight < np.inf
    assert tight == pytest.approx(np.log(1e6), rel=0.5)


def test_ridge_gives_separable_labels_a_minimiser():
    task, data = make("logistic", 1), column(1.0, 1.0, 1.0)
    models = [solve(task, data, ridge=0.1, tolerance=t).model[0] for t in (1e-6, 1e-9)]
    assert models[0] == pytest.approx(models[1], abs=1e-4)
    assert 0.1 * models[0] == pytest.approx(1 / (1 + np.exp(models[0])), abs=1e-5)


class Broken:
    """A loss that is not finite anywhere."""

    def initial(self):
        return {"w": np.zeros(2)}

    def loss(self, model, data):
        return np.nan

    def gradient(self, model, data):
        return np.full(2, np.nan)


def test_a_loss_that_is_not_finite_gives_a_finite_model_and_says_so():
    solution = solve(Broken(), column(1.0))
    assert np.isfinite(solution.model).all()
    assert solution.stopped == "gradient not finite"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None)
@given(kind=KINDS, inputs=st.integers(-300, 300), targets=st.integers(-300, 300))
def test_extreme_data_never_give_a_model_that_is_not_finite(kind, inputs, targets):
    task = make(kind, 3, 10)
    data = task.train(0)
    huge = Data(data.inputs * 10.0**inputs, data.targets * 10.0**targets)
    assert np.isfinite(solve(task, huge).model).all()


@pytest.mark.multiprocess
def test_torch_is_not_needed_for_losses_in_numpy():
    code = (
        "import sys\n"
        "from tagma.client.local_client import make_client\n"
        "from tagma.settings import compose\n"
        "client = make_client(compose(['task=mixture_logistic', 'solver=lbfgs']), 0)\n"
        "client.answer('local_model', (0, {}), 1, {})\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
