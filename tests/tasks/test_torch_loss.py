import numpy as np
import pytest
from scipy.optimize import check_grad

from tagma.client.solvers.lbfgs import lbfgs
from tagma.client.solvers.online import online
from tagma.tasks.mixture_logistic import MixtureLogistic
from tagma.tasks.task import Data
from tagma.tasks.torch_loss import TorchLoss

NUMPY = MixtureLogistic(clients=1, clusters=1, dim=3, samples=200, scale=1.0, seed=2)


class Logistic(TorchLoss):
    """The loss of NUMPY, and nothing else."""

    def initial(self):
        return {"w": np.zeros(3)}

    def torch_loss(self, model, inputs, targets):
        from torch.nn.functional import binary_cross_entropy_with_logits

        return binary_cross_entropy_with_logits(inputs @ model, targets)


class LogCosh(TorchLoss):
    """A smooth absolute loss, log cosh of the residual."""

    def torch_loss(self, model, inputs, targets):
        import torch

        return torch.log(torch.cosh(inputs @ model - targets)).mean()


def test_a_gradient_by_hand():
    """The derivative of log cosh r is tanh r."""
    data = Data(np.array([[1.0], [2.0]]), np.array([0.0, 1.0]))
    gradient = LogCosh().gradient(np.array([2.0]), data)
    assert gradient.tolist() == pytest.approx([(np.tanh(2) + 2 * np.tanh(3)) / 2])
    assert gradient.dtype == np.float64


def test_a_loss_alone_gives_the_loss_and_gradient_of_the_numpy_task():
    data, model = NUMPY.train(0), np.array([0.5, -1.0, 2.0])
    assert Logistic().loss(model, data) == pytest.approx(NUMPY.loss(model, data), rel=1e-12)
    gradients = Logistic().gradient(model, data), NUMPY.gradient(model, data)
    assert np.allclose(*gradients, rtol=1e-12)


def test_the_gradient_is_that_of_the_loss():
    data, task = NUMPY.train(0), Logistic()
    model = np.array([0.3, -1.0, 2.0])
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-6


def test_both_general_solvers_work_from_a_loss_alone():
    data = NUMPY.train(0)
    keywords = {"tolerance": 1e-8, "iterations": 100, "ridge": 0.1}
    models = [lbfgs(task, data, **keywords).model for task in (Logistic(), NUMPY)]
    assert np.allclose(*models, atol=1e-6)
    keywords = {"step": 4.0, "decay": 0.0, "normalise": True}
    models = [online(task, data, **keywords).model for task in (Logistic(), NUMPY)]
    assert np.allclose(*models, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_arrays_that_are_read_only_are_taken_and_left_alone():
    data, model = NUMPY.train(0), np.ones(3)
    for array in (data.inputs, data.targets, model):
        array.flags.writeable = False
    before = data.inputs.copy()
    assert np.isfinite(Logistic().gradient(model, data)).all()
    assert np.array_equal(data.inputs, before)
