import numpy as np
import pytest
from scipy.optimize import check_grad

from tagma.client.solvers.lbfgs import lbfgs
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.mixture_logcosh import MixtureLogCosh
from tagma.tasks.task import Data

SHARED = {"clients": 4, "clusters": 2, "dim": 3, "samples": 80, "seed": 2}
NOISE = {"noise": 1.0, "freedom": 2.0}


def make(delta=1.5):
    return MixtureLogCosh(**SHARED, **NOISE, delta=delta)


def test_loss_and_gradient_by_hand():
    """delta^2 log cosh(r / delta) has the derivative delta tanh(r / delta)."""
    task, data = make(delta=2.0), Data(np.array([[1.0, 0, 0], [0, 2.0, 0]]), np.array([0.0, 1.0]))
    model = np.array([3.0, 0.0, 0.0])
    loss = 4 * (np.log(np.cosh(1.5)) + np.log(np.cosh(-0.5))) / 2
    assert task.loss(model, data) == pytest.approx(loss)
    slopes = 2 * np.tanh([1.5, -0.5])
    assert task.gradient(model, data) == pytest.approx([slopes[0] / 2, slopes[1], 0])


def test_the_gradient_is_that_of_the_loss():
    task, model = make(), np.array([0.3, -1.0, 2.0])
    data = task.train(0)
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-6


def test_a_wild_target_overflows_nothing():
    task, data = make(), Data(np.ones((1, 3)), np.array([1e300]))
    assert np.isfinite(task.loss(np.zeros(3), data))
    assert task.gradient(np.zeros(3), data) == pytest.approx(-1.5 * np.ones(3))


def test_the_data_are_hubers():
    huber = MixtureHuber(**SHARED, **NOISE, delta=1.5)
    assert np.array_equal(make().train(3).targets, huber.train(3).targets)


def test_with_a_large_delta_it_is_least_squares():
    task = make(delta=1e4)
    data = task.train(0)
    reference = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    found = lbfgs(task, data, tolerance=1e-8, iterations=200, ridge=0.0)
    assert np.allclose(found.model, reference, atol=1e-4)


def test_a_federation_learns_from_a_torch_loss(run_small):
    metrics = run_small("task=mixture_logcosh", "~task.noise", "+task.noise=0.5", "rounds=10")
    assert metrics["misclustering"] == 0
    assert metrics["estimation_error"] < 0.2
