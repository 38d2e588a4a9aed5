import numpy as np
import pytest
from torch import nn

from tagma.settings import compose
from tagma.tasks.smoothness import WithSmoothness, largest_eigenvalue, smoothness
from tagma.tasks.task import Data, layout_of
from tagma.tasks.task_choice import task_of
from tagma.tasks.torch_module import TorchModule

TINY = ("task.clients=4", "task.clusters=2", "task.samples=40", "attack=none")


def hessian(task, model, data, apart=1e-4):
    """By differences of gradients, column by column."""
    columns = [
        (task.gradient(model + apart * e, data) - task.gradient(model - apart * e, data))
        / (2 * apart)
        for e in np.eye(len(model))
    ]
    return np.array(columns)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (5, 30), (8, 8), (1, 3)])
def test_the_largest_eigenvalue_of_either_gram_matrix(n, d):
    inputs = np.random.default_rng(0).normal(size=(n, d))
    expected = np.linalg.norm(inputs, 2) ** 2 / n
    assert largest_eigenvalue(inputs) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["regression", "huber", "logistic"])
def test_no_gradient_of_a_linear_mixture_changes_faster(name):
    task = task_of(compose([f"task=mixture_{name}", "task.dim=6", *TINY]))
    data, found = task.train(0), smoothness(task, task.train(0))
    assert isinstance(task, WithSmoothness)
    random = np.random.default_rng(0)
    for scale in (0, 0.1, 3):
        steepest = np.linalg.eigvalsh(hessian(task, scale * random.normal(size=6), data))[-1]
        assert steepest <= found * (1 + 1e-6)
    if name != "huber":  # which bends this much only where all residuals are small
        at_zero = np.linalg.eigvalsh(hessian(task, np.zeros(6), data))[-1]
        assert at_zero == pytest.approx(found, rel=1e-6)


class Line(TorchModule):
    clients, clusters = 2, 1

    def __init__(self, *, seed=0, device="cpu"):
        self.seed, self.device = seed, device

    def module(self):
        return nn.Linear(4, 1, bias=False)

    def torch_loss(self, outputs, targets):
        return nn.functional.mse_loss(outputs[:, 0], targets) / 2

    def train(self, client):
        random = np.random.default_rng(client)
        inputs = random.normal(size=(50, 4)).astype(np.float32)
        return Data(inputs, random.normal(size=50).astype(np.float32))


def test_elsewhere_it_is_measured():
    task = Line()
    assert not isinstance(task, WithSmoothness)
    inputs = task.train(0).inputs.astype(np.float64)
    assert smoothness(task, task.train(0)) == pytest.approx(largest_eigenvalue(inputs), rel=0.01)


def test_measuring_changes_neither_data_nor_model():
    task = Line()
    data, start = task.train(0), layout_of(task).vector(task.initial())
    inputs = data.inputs.copy()
    smoothness(task, data)
    np.testing.assert_array_equal(data.inputs, inputs)
    np.testing.assert_array_equal(layout_of(task).vector(task.initial()), start)


def test_nothing_without_examples():
    task = task_of(compose(["task.dim=3", *TINY]))
    assert smoothness(task, Data(np.empty((0, 3)), np.empty(0))) == 0
