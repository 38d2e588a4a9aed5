import numpy as np
import pytest
import torch
from torch import nn

from tagma.errors import SettingError
from tagma.settings import compose
from tagma.tasks.data.examples import Examples
from tagma.tasks.models.model import Problem
from tagma.tasks.models.model_choice import model_maker
from tagma.tasks.models.perceptron import Perceptron
from tagma.tasks.stack import Stack, is_stackable
from tagma.tasks.task import Data, layout_of
from tests.tasks.only_model import OnlyModel

CLASSES = Problem((5,), 3)
NUMBERS = Problem((5,), 1, "regression")
HERE = __name__


class Net(nn.Module):
    def __init__(self, width=4, outputs=3):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.second = nn.Linear(width, outputs)

    def forward(self, inputs):
        return self.second(torch.tanh(self.first(inputs)))


class Normalised(Net):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)

    def forward(self, inputs):
        return super().forward(self.norm(inputs))


class Tied(Net):
    def __init__(self):
        super().__init__(width=5)
        self.again = self.first

    def forward(self, inputs):
        return super().forward(torch.relu(self.again(inputs)))


def squares(outputs, targets, weight=1.0):
    return weight * torch.square(torch.softmax(outputs, 1)[range(len(targets)), targets] - 1).mean()


def model(target, problem=CLASSES, *more):
    return model_maker(compose([f"model._target_={HERE}.{target}", *more]))(problem)


def task(target, problem=CLASSES, *more):
    return OnlyModel(model(target, problem, *more), problem)


def data(problem=CLASSES, count=7):
    random = np.random.default_rng(1)
    inputs = random.normal(size=(count, *problem.shape)).astype(np.float32)
    if problem.kind == "regression":
        return Data(inputs, random.normal(size=count))
    return Data(inputs, random.integers(0, problem.outputs, count))


def start(of):
    return layout_of(of).vector(of.initial())


def test_a_module_of_the_users_with_its_arguments():
    own = task("Net", CLASSES, "model.width=6")
    shapes = {name: array.shape for name, array in own.initial().items()}
    assert shapes["first.weight"] == (6, 5)
    assert np.array_equal(start(own), start(task("Net", CLASSES, "model.width=6")))
    assert not np.array_equal(start(own), start(task("Net", CLASSES, "model.width=6", "seed=1")))


def test_loss_and_accuracy_are_those_of_torch():
    own, some = task("Net"), data()
    net = Net()
    net.load_state_dict({k: torch.from_numpy(v) for k, v in own.initial().items()})
    outputs, targets = net(torch.from_numpy(some.inputs)), torch.from_numpy(some.targets)
    found = own.evaluate(start(own), some)
    assert found["loss"] == pytest.approx(float(nn.functional.cross_entropy(outputs, targets)))
    assert found["accuracy"] == float((outputs.argmax(1) == targets).double().mean())


def test_many_clients_at_once_are_as_one_by_one():
    own, parts = task("Net"), [data(count=4), data(count=4), data(count=2), data(count=4)] * 2
    assert is_stackable(own)
    models = start(own) + np.linspace(0, 0.1, len(parts), dtype=np.float32)[:, None]
    stack = Stack.of(parts, np.float32)
    for found, one, part in zip(own.gradients(models, stack), models, parts, strict=True):
        assert np.allclose(found, own.gradient(one, part), atol=1e-6)
    assert np.allclose(
        own.losses(models, stack), [own.loss(*each) for each in zip(models, parts, strict=True)]
    )


@pytest.mark.parametrize("name", ["Net", "Normalised", "Tied"])
def test_what_is_written_is_what_the_module_loads(name):
    own = task(name)
    vector = start(own) + 1
    buffers = {key: own.initial()[key] for key in own.buffers}
    state = own.state_dict(vector, buffers)
    module = globals()[name]()
    module.load_state_dict({key: torch.from_numpy(np.array(v)) for key, v in state.items()})
    assert np.allclose(module.first.weight.detach(), own.initial()["first.weight"] + 1)


def test_a_number_may_have_a_column_of_its_own():
    own, some = task("Net", NUMBERS, "model.outputs=1"), data(NUMBERS)
    numbers = own.predict(start(own), {}, some.inputs)
    assert numbers.shape == (7,)
    assert own.loss(start(own), some) == pytest.approx(
        np.square(numbers - some.targets).mean() / 2, rel=1e-5
    )
    assert np.isfinite(own.gradient(start(own), some)).all()


def test_a_loss_of_the_users():
    more = f"model.loss._target_={HERE}.squares", "model.loss.weight=3.0"
    plain, own = task("Net"), task("Net", CLASSES, *more)
    some, vector = data(), start(plain)
    scores = plain.predict(vector, {}, some.inputs)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    mine = 3 * np.square(shares[range(7), some.targets] - 1).mean()
    assert own.loss(vector, some) == pytest.approx(mine, rel=1e-5)
    assert not np.allclose(own.gradient(vector, some), plain.gradient(vector, some))


def test_a_model_of_ones_own_without_torch():
    problem = Problem((5,), 2)
    chosen = model_maker(compose(["model._target_=tagma.tasks.models.perceptron.Perceptron",
                                  "model.hidden=[3]"]))(problem)  # fmt: skip
    assert isinstance(chosen, Perceptron)
    assert chosen.widths == (5, 3, 2)


@pytest.mark.parametrize(
    ("target", "more", "said"),
    [
        ("Net", ["model.outputs=4"], r"returns \(3, 4\) for 3 inputs, and should return \(3, 3\)"),
        ("Net", ["model.outputs=0"], "model._target_=Net: cannot be used on inputs of shape"),
        ("Net", ["model.wdth=4"], "model.wdth=4: there is no such setting; did you mean width"),
        ("Net", ["model.width=many"], "model._target_=Net: cannot be used .* TypeError"),
        ("Nothing", [], "model._target_=.*cannot be imported"),
        ("squares", ["model.weight=1"], "cannot be used"),
        ("Net", ["model.loss._target_=nowhere.loss"], "model.loss._target_=nowhere.loss"),
        ("Net", [f"model.loss._target_={HERE}.data"], "cannot be used"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(target, more, said):
    with pytest.raises(SettingError, match=said) as caught:
        model(target, CLASSES, *more)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("shape", "channels"), [((1, 8, 8), [4, 8]), ((3, 5, 7), [2, 2, 2, 2])])
def test_a_small_cnn_for_images_of_any_size(shape, channels):
    problem = Problem(shape, 4)
    for hidden in (0, 6):
        texts = ["model=cnn", f"model.channels={channels}", f"model.hidden={hidden}"]
        cnn = OnlyModel(model_maker(compose(texts))(problem), problem)
        assert cnn.predict(start(cnn), {}, data(problem).inputs).shape == (7, 4)
        assert is_stackable(cnn)


def test_examples_of_bytes_become_numbers():
    images = Examples(np.full((2, 1, 2, 2), 51, np.uint8), np.array([0, 1]), ("a", "b"), scale=255)
    inputs, _ = images.take(np.array([1]))
    assert inputs.dtype == np.float32
    assert np.allclose(inputs, 0.2)
