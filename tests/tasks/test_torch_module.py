import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from torch import nn

from tagma.client.solvers.sgd import sgd
from tagma.errors import SettingError
from tagma.layout import Layout
from tagma.settings import compose
from tagma.tasks.task import Data, WithBuffers, layout_of
from tagma.tasks.task_choice import task_of
from tagma.tasks.torch_module import EXAMPLES_AT_ONCE, TorchModule


class Net(TorchModule):
    """A task of the module that a function makes; nobody asks for its data."""

    clients = clusters = 1
    train = test = truth = warnings = lambda self, *client: None

    def __init__(self, make, seed=0, device="cpu"):
        self.make, self.seed, self.device = make, seed, device

    def module(self):
        return self.make()


def plain():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def normalised():
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))


def convolution():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(2, 3)
    )


def dropout():
    return nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 3))


def some(count=20):
    source = np.random.default_rng(5)
    inputs = source.normal(size=(count, 4))
    return Data(inputs, inputs[:, :3].argmax(axis=1))


def start(task):
    return layout_of(task).vector(task.initial())


def buffers_of(task):
    initial = task.initial()
    return {part.name: initial[part.name] for part in layout_of(task).buffers}


@pytest.mark.parametrize("make", [plain, convolution, normalised])
def test_a_state_dict_goes_in_and_comes_out_by_name(make):
    task = Net(make)
    initial, layout = task.initial(), layout_of(task)
    module = make()
    assert list(initial) == list(module.state_dict())
    named = layout.named(layout.vector(initial), buffers_of(task))
    module.load_state_dict({name: torch.tensor(array) for name, array in named.items()})
    for name, tensor in module.state_dict().items():
        assert np.array_equal(tensor, initial[name])
        assert tensor.numpy().dtype == initial[name].dtype
        assert tuple(tensor.shape) == initial[name].shape


def test_the_initial_model_follows_from_the_seed_and_torchs_random_state_stays():
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first = start(Net(plain))
    torch.manual_seed(12)
    assert np.array_equal(start(Net(plain)), first)
    assert not np.array_equal(start(Net(plain, seed=1)), first)
    torch.manual_seed(11)
    task = Net(dropout)
    task.gradient(start(task), some())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("make", [plain, convolution])
def test_the_gradient_agrees_with_finite_differences(make):
    task, data = Net(lambda: make().double()), some()
    model = start(task)
    assert model.dtype == np.float64
    slopes = approx_fprime(model, lambda w: task.loss(w, data), 1e-7)
    assert np.allclose(task.gradient(model, data), slopes, atol=1e-5)


@pytest.mark.parametrize("make", [plain, convolution, normalised])
def test_loss_gradient_and_metrics_are_those_of_the_module(make):
    task, data = Net(make), some()
    module = make()
    module.load_state_dict({name: torch.tensor(a) for name, a in task.initial().items()})
    inputs, targets = torch.tensor(data.inputs).float(), torch.tensor(data.targets)
    outputs = module.eval()(inputs)
    loss = nn.functional.cross_entropy(outputs, targets)
    found = task.evaluate(start(task), data)
    assert found["loss"] == pytest.approx(float(loss.detach()), rel=1e-6)
    assert found["accuracy"] == pytest.approx(float((outputs.argmax(1) == targets).float().mean()))
    nn.functional.cross_entropy(module.train()(inputs), targets).backward()
    gradient = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
    assert np.allclose(task.gradient(start(task), data), gradient, atol=1e-7)
    assert task.gradient(start(task), data).dtype == np.float32


def test_running_statistics_are_buffers_and_move_as_in_torch():
    task, data = Net(normalised), some()
    layout, buffers = layout_of(task), buffers_of(task)
    assert isinstance(task, WithBuffers)
    assert task.buffers == ("1.running_mean", "1.running_var", "1.num_batches_tracked")
    assert layout.size == sum(p.numel() for p in normalised().parameters())
    _, after = task.step(start(task), buffers, data)
    _, twice = task.step(start(task), after, data)
    module = normalised()
    module.load_state_dict({name: torch.tensor(a) for name, a in task.initial().items()})
    for found in (after, twice):
        module(torch.tensor(data.inputs).float())
        for name in task.buffers:
            assert np.allclose(found[name], module.state_dict()[name], atol=1e-6)
            assert found[name].dtype == buffers[name].dtype
    assert after["1.num_batches_tracked"] == 1
    assert np.array_equal(buffers["1.running_mean"], np.zeros(6))
    assert np.array_equal(task.initial()["1.running_mean"], np.zeros(6))


def test_evaluation_uses_the_buffers_that_it_is_given():
    task, data = Net(normalised), some()
    _, after = task.step(start(task), buffers_of(task), data)
    with_them = task.evaluate_with(start(task), after, data)
    assert with_them != task.evaluate(start(task), data)
    assert task.evaluate_with(start(task), buffers_of(task), data) == task.evaluate(
        start(task), data
    )


def test_a_floating_buffer_of_the_users_own_is_no_parameter():
    class Scaled(nn.Linear):
        def __init__(self):
            super().__init__(4, 3)
            self.register_buffer("scale", torch.full((3,), 2.0))

        def forward(self, inputs):
            return self.scale * super().forward(inputs)

    task = Net(Scaled)
    assert [part.name for part in layout_of(task).buffers] == ["scale"]
    assert layout_of(task).size == 15
    assert Layout.of(task.initial()).size == 18


def test_statistics_are_not_taken_of_a_single_example():
    task, one = Net(normalised), some(1)
    buffers = buffers_of(task)
    gradient, after = task.step(start(task), buffers, one)
    assert np.isfinite(gradient).all()
    assert all(np.array_equal(after[name], buffers[name]) for name in buffers)


def test_dropout_differs_by_model_and_batch_and_can_be_repeated():
    task, data = Net(dropout), some()
    model = start(task)
    first = task.gradient(model, data)
    assert np.array_equal(task.gradient(model, data), first)

    def zeros(gradient):
        """The hidden units that were dropped: their rows of the first layer have gradient 0."""
        return tuple(np.flatnonzero(~layout_of(task).named(gradient)["0.weight"].any(axis=1)))

    one = [Data(data.inputs[i : i + 1], data.targets[i : i + 1]) for i in (0, 1)]
    dropped = {zeros(task.gradient(model, each)) for each in one}
    dropped.add(zeros(task.gradient(1.01 * model, one[0])))
    assert len(dropped) == 3
    assert task.evaluate(model, data) == task.evaluate(model, data)


def test_frozen_parameters_stay_and_shared_ones_are_there_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.last = nn.Linear(4, 3).requires_grad_(False)
            self.second.weight = self.first.weight

        def forward(self, inputs):
            return self.last(self.second(self.first(inputs)))

    task, data = Net(lambda: Tied().double()), some()
    assert "second.weight" not in task.initial()
    gradient = task.gradient(start(task), data)
    named = layout_of(task).named(gradient)
    assert not named["last.weight"].any()
    free = slice(0, 16 + 4 + 4)
    slopes = approx_fprime(start(task), lambda w: task.loss(w, data), 1e-7)
    assert np.allclose(gradient[free], slopes[free], atol=1e-5)


def test_many_examples_are_evaluated_in_parts():
    task, data = Net(plain), some(2 * EXAMPLES_AT_ONCE + 7)
    parts = [slice(0, 1000), slice(1000, None)]
    whole = task.evaluate(start(task), data)
    apart = [
        (
            len(data.targets[rows]),
            task.evaluate(start(task), Data(data.inputs[rows], data.targets[rows])),
        )
        for rows in parts
    ]
    for name in task.metrics:
        mean = sum(count * found[name] for count, found in apart) / len(data)
        assert whole[name] == pytest.approx(mean, rel=1e-6)


def test_another_loss_makes_it_a_regression():
    class Regression(Net):
        metrics = {"loss": "low"}  # noqa: RUF012

        def torch_loss(self, outputs, targets):
            return ((outputs[:, 0] - targets) ** 2).mean() / 2

        def torch_metrics(self, outputs, targets):
            return {}

    task = Regression(lambda: nn.Linear(1, 1))
    data = Data(np.array([[1.0], [2.0]]), np.array([3.0, 5.0]))
    model = np.array([1.0, 0.0], dtype=np.float32)
    assert task.evaluate(model, data) == {"loss": pytest.approx((2**2 + 3**2) / 4)}
    assert task.gradient(model, data).tolist() == pytest.approx([-(2 + 6) / 2, -(2 + 3) / 2])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_auto_is_the_processor_and_cuda_is_one_clear_line():
    task = Net(plain, device="auto")
    assert np.array_equal(start(task), start(Net(plain)))
    for device in ("cuda", "tpu"):
        with pytest.raises(SettingError, match=f"^device={device}: ") as caught:
            Net(plain, device=device).initial()
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_setting_device_reaches_tasks_that_use_torch():
    small = ["task=mixture_logcosh", "task.dim=3"]
    with pytest.raises(SettingError, match=r"^device=cuda: "):
        task_of(compose([*small, "device=cuda"]))
    models = [task_of(compose([*small, f"device={name}"])) for name in ("cpu", "auto")]
    gradients = [task.gradient(np.zeros(3), task.train(0)) for task in models]
    assert np.array_equal(*gradients)


def test_a_module_is_trained_from_its_initial_model_with_its_buffers():
    task, data = Net(normalised), some(30)
    settings = {"step": 0.1, "batch": 10, "epochs": 20, "decay": 0.0, "seed": 0}
    solution = sgd(task, data, **settings)
    assert solution.buffers["1.num_batches_tracked"] == 60
    before = task.evaluate(start(task), data)
    after = task.evaluate_with(solution.model, solution.buffers, data)
    assert after["loss"] < 0.8 * before["loss"]
    assert np.array_equal(sgd(task, data, **settings).model, solution.model)
