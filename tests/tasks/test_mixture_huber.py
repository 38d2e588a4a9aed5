import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import kstest, t

from tagma.client.solvers.closed_form import closed_form
from tagma.client.solvers.lbfgs import lbfgs
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data, LeastSquares


def make(**changes):
    settings = {
        "clients": 6, "clusters": 2, "dim": 3, "samples": 5000, "noise": 0.5, "freedom": 2.0,
        "delta": 1.0, "seed": 1,
    }  # fmt: skip
    return MixtureHuber(**(settings | changes))


def own_coefficients(task, client):
    return task.truth().centres[task.truth().labels[client]]


@pytest.mark.parametrize("freedom", [1.0, 2.5])
def test_the_noise_is_students(freedom):
    task = make(freedom=freedom)
    data = task.train(3)
    noise = (data.targets - data.inputs @ own_coefficients(task, 3)) / 0.5
    assert kstest(noise, t(freedom).cdf).pvalue > 0.01
    assert kstest(noise, t(freedom + 1.5).cdf).pvalue < 0.01


@pytest.mark.parametrize(
    ("residual", "loss", "slope"), [(0.5, 0.125, 0.5), (2.0, 2.0, 2.0), (5.0, 8.0, 2.0)]
)
def test_loss_and_gradient_by_hand(residual, loss, slope):
    task = make(delta=2.0)
    for sign in (1, -1):
        data = Data(np.array([[3.0, 0.0, 0.0]]), np.array([-sign * residual]))
        assert task.loss(np.zeros(3), data) == pytest.approx(loss)
        assert task.gradient(np.zeros(3), data).tolist() == [3.0 * sign * slope, 0.0, 0.0]


def test_the_gradient_is_that_of_the_loss():
    task = make(samples=40)
    data, model = task.train(0), np.array([0.3, -1.0, 2.0])
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-6


def test_with_a_large_delta_it_is_squared_loss():
    settings = {"clients": 6, "clusters": 2, "dim": 3, "samples": 50, "noise": 0.5, "seed": 1}
    squared, task = MixtureRegression(**settings), make(delta=1e9)
    data, model = task.train(0), np.array([0.3, -1.0, 2.0])
    assert task.loss(model, data) == pytest.approx(squared.loss(model, data))
    assert np.allclose(task.gradient(model, data), squared.gradient(model, data))
    assert isinstance(squared, LeastSquares)
    assert not isinstance(task, LeastSquares)


def test_the_truth_is_that_of_the_regression_of_the_same_seed():
    settings = {"clients": 6, "clusters": 2, "dim": 3, "samples": 50, "noise": 0.5, "seed": 1}
    squared = MixtureRegression(**settings).truth()
    assert np.array_equal(make().truth().centres, squared.centres)
    assert np.array_equal(make().truth().labels, squared.labels)


def test_the_risk_is_least_at_the_true_coefficients():
    task = make(samples=100000)
    gradient = task.gradient(own_coefficients(task, 1), task.test(1))
    assert np.abs(gradient).max() < 0.01


def test_false_coefficients_keep_inputs_and_noise():
    task = make()
    honest, false = task.train(2), task.data_with(2, np.zeros(3))
    assert np.array_equal(honest.inputs, false.inputs)
    noise = honest.targets - honest.inputs @ own_coefficients(task, 2)
    assert np.allclose(noise, false.targets, atol=1e-9)


def test_one_wild_target_moves_the_model_by_little():
    task = make(samples=200)
    data = task.train(0)
    wild = Data(data.inputs, data.targets.copy())
    wild.targets[7] += 1e6

    def moved(solve):
        return np.linalg.norm(solve(wild) - solve(data))

    robust = moved(lambda d: lbfgs(task, d, tolerance=1e-8, iterations=500, ridge=0.0).model)
    assert robust < 0.05
    assert moved(lambda d: closed_form(task, d, ridge=0.0).model) > 1000


def test_a_federation_under_attack_finds_the_clusters(run_small):
    metrics = run_small("task=mixture_huber", "solver=lbfgs", "task.samples=100", "rounds=8")
    assert metrics["misclustering"] == 0
    assert metrics["estimation_error"] < 0.15
    assert all(loss > 0 for loss in metrics["client_loss"])


def test_as_many_samples_as_dimensions_bring_a_warning():
    assert make(samples=3).warnings()
    assert not make(samples=30).warnings()
