import numpy as np
import pytest
from scipy.optimize import approx_fprime
from torch import nn

from tagma.tasks.task import Data, layout_of
from tagma.tasks.torch_module import TorchModule
from tests.tasks.only_model import perceptron


class InTorch(TorchModule):
    """The same in torch."""

    seed = 0

    def __init__(self, widths):
        self.widths = widths

    def module(self):
        layers = [
            layer
            for inputs, outputs in zip(self.widths, self.widths[1:], strict=False)
            for layer in (nn.Linear(inputs, outputs), nn.ReLU())
        ]
        return nn.Sequential(*layers[:-1])


SHAPES = [(5, 3), (5, 7, 3), (6, 5, 4, 3)]


def some(widths, count=12):
    source = np.random.default_rng(2)
    inputs = source.normal(size=(count, widths[0])).astype(np.float32)
    return Data(inputs, source.integers(0, widths[-1], count))


def start(task):
    return layout_of(task).vector(task.initial())


def test_loss_accuracy_and_gradient_by_hand():
    """Scores 0 and ln 3 make probabilities 1/4 and 3/4; the class is 0, the input 2."""
    model = np.array([0.0, np.log(3) / 2, 0.0, 0.0], dtype=np.float32)
    task, data = perceptron((1, 2)), Data(np.array([[2.0]], dtype=np.float32), np.array([0]))
    assert task.evaluate(model, data)["accuracy"] == 0
    assert task.loss(model, data) == pytest.approx(np.log(4))
    assert task.gradient(model, data).tolist() == pytest.approx([-1.5, 1.5, -0.75, 0.75])


@pytest.mark.parametrize("widths", SHAPES)
def test_torch_agrees(widths):
    task, peer, data = perceptron(widths), InTorch(widths), some(widths)
    assert layout_of(task) == layout_of(peer)
    model = start(task)
    assert task.evaluate(model, data) == pytest.approx(peer.evaluate(model, data), rel=1e-5)
    gradient = task.gradient(model, data)
    assert gradient.dtype == np.float32
    assert np.allclose(gradient, peer.gradient(model, data), atol=1e-6)


@pytest.mark.parametrize("widths", SHAPES)
def test_the_gradient_agrees_with_finite_differences(widths):
    task, data = perceptron(widths), some(widths)
    data = Data(data.inputs.astype(np.float64), data.targets)
    model = start(task).astype(np.float64)
    slopes = approx_fprime(model, lambda w: task.loss(w, data), 1e-7)
    assert np.allclose(task.gradient(model, data), slopes, atol=1e-5)


def test_the_initial_model_follows_from_the_seed_and_is_as_torch_draws_it():
    task = perceptron((100, 80, 10))
    assert np.array_equal(start(task), start(perceptron((100, 80, 10))))
    assert not np.array_equal(start(task), start(perceptron((100, 80, 10), seed=1)))
    named, peer = task.initial(), InTorch((100, 80, 10)).initial()
    assert list(named) == list(peer) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    for name, array in named.items():
        assert array.dtype == np.float32
        assert array.std() == pytest.approx(peer[name].std(), rel=0.5)
        assert np.abs(array).max() <= 1 / np.sqrt(100 if name[0] == "0" else 80)


@pytest.mark.filterwarnings("error")
def test_absurd_models_are_evaluated_without_a_warning():
    task, data = perceptron((5, 7, 3)), some((5, 7, 3))
    for size in (1e10, 1e38):
        model = np.full_like(start(task), size)
        assert np.isnan(task.loss(model, data)) or task.loss(model, data) >= 0
        assert task.gradient(model, data).shape == model.shape


@pytest.mark.parametrize("widths", [(4, 1), (4, 6, 1)])
def test_a_number_is_predicted_with_half_the_squared_difference(widths):
    task, data = perceptron(widths, kind="regression"), some(widths)
    data = Data(data.inputs.astype(np.float64), np.linspace(-1, 2, len(data)))
    model = start(task).astype(np.float64)
    numbers = task.predict(model, {}, data.inputs)
    assert numbers.shape == (len(data),)
    assert task.loss(model, data) == pytest.approx(np.square(numbers - data.targets).mean() / 2)
    slopes = approx_fprime(model, lambda w: task.loss(w, data), 1e-7)
    assert np.allclose(task.gradient(model, data), slopes, atol=1e-5)
    assert list(task.metrics) == ["r2", "loss"]
