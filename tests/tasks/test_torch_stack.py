import numpy as np
import pytest
import torch
from torch import nn

from tagma.tasks import torch_stack
from tagma.tasks.stack import Stack, is_stackable
from tagma.tasks.task import Data, layout_of
from tagma.tasks.torch_loss import TorchLoss
from tagma.tasks.torch_module import TorchModule


def plain():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def convolution():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(2, 3)
    )


def frozen():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3).requires_grad_(False))


def normalised():
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))


def dropout():
    return nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 3))


class Branching(nn.Linear):
    """What it does depends on the numbers that it sees."""

    def __init__(self):
        super().__init__(4, 3)

    def forward(self, inputs):
        outputs = super().forward(inputs)
        return outputs if outputs.sum() > 0 else -outputs


class Net(TorchModule):
    """The module that a function makes; client i has counts[i] examples."""

    clusters, seed = 1, 0
    test = truth = warnings = lambda self, *client: None

    def __init__(self, make, counts=(0, 5, 3, 5, 1, 5, 5)):
        self.make, self.counts, self.clients = make, counts, len(counts)

    def module(self):
        return self.make()

    def train(self, client):
        random = np.random.default_rng([5, client])
        count = self.counts[client]
        return Data(random.normal(size=(count, 4)), random.integers(0, 3, count))


class Spread(TorchLoss):
    """Not a mean over single examples: the variance of the residuals."""

    clients, clusters, metrics = 9, 1, {}
    test = truth = warnings = evaluate = lambda self, *client: None

    def initial(self):
        return {"w": np.zeros(2)}

    def train(self, client):
        random = np.random.default_rng([6, client])
        count = 3 + client % 2
        return Data(random.normal(size=(count, 2)), random.normal(size=count))

    def torch_loss(self, model, inputs, targets):
        return torch.var(inputs @ model - targets)


def models_of(task):
    start = layout_of(task).vector(task.initial())
    random = np.random.default_rng(7)
    return start + 0.1 * random.normal(size=(task.clients, len(start))).astype(start.dtype)


def assert_as_one_by_one(task, digits):
    models, data = models_of(task), [task.train(client) for client in range(task.clients)]
    stack = Stack.of(data, models.dtype)
    gradients, losses = task.gradients(models, stack), task.losses(models, stack)
    assert gradients.dtype == models.dtype
    for model, each, gradient, loss in zip(models, data, gradients, losses, strict=True):
        if len(each) == 0:
            assert not gradient.any()
            assert np.isnan(loss)
        else:
            alone = task.gradient(model, each)
            assert np.abs(gradient - alone).max() <= digits * np.abs(alone).max()
            assert loss == pytest.approx(task.loss(model, each), rel=digits)


@pytest.mark.parametrize("make", [plain, convolution, frozen])
def test_a_module_computes_for_all_what_it_does_for_one(make):
    single, double = Net(make), Net(lambda: make().double())
    assert is_stackable(single)
    assert_as_one_by_one(single, 1e-5)
    assert_as_one_by_one(double, 1e-12)


def test_a_loss_that_is_no_mean_over_examples_sees_no_padding():
    assert is_stackable(Spread())
    assert_as_one_by_one(Spread(), 1e-12)


@pytest.mark.parametrize("make", [normalised, dropout, Branching])
def test_what_cannot_be_done_for_many_at_once_says_so(make):
    assert not is_stackable(Net(make))


def test_without_examples_nothing_can_be_tried():
    assert not is_stackable(Net(plain, counts=(0, 0)))


@pytest.mark.parametrize(
    ("budget", "together"), [(10**9, [9]), (5 * 332, [5, 4]), (4 * 332 + 1, []), (1, [])]
)
def test_clients_go_in_parts_that_bound_memory_and_few_go_alone(monkeypatch, budget, together):
    """Nine clients with two examples, one with three; 51 parameters and 2 * 4 inputs of 4 bytes."""
    task, seen = Net(plain, counts=(2, 2, 3, 2, 2, 2, 2, 2, 2, 2)), []
    whole = [task.gradient(models_of(task)[i], task.train(i)) for i in range(10)]
    monkeypatch.setattr(torch_stack, "BYTES_AT_ONCE", budget)
    move = task._tensor

    def spied(array):
        seen.append(array.shape)
        return move(array)

    monkeypatch.setattr(task, "_tensor", spied)
    gradients = task.gradients(models_of(task), stack_of(task))
    assert np.allclose(gradients, whole, atol=1e-7)
    assert [shape[0] for shape in seen if shape[1:] == (51,)] == together
    assert seen.count((51,)) == 10 - sum(together)


def stack_of(task):
    return Stack.of([task.train(client) for client in range(task.clients)], np.float32)


def test_trying_it_leaves_torchs_random_numbers_alone():
    before = torch.get_rng_state()
    assert not is_stackable(Net(dropout))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_that_clients_share_need_not_be_copied():
    task = Net(plain)
    models = models_of(task)[:1].repeat(task.clients, axis=0)
    shared = np.broadcast_to(models[0], models.shape)
    gradients = [task.gradients(each, stack_of(task)) for each in (models, shared)]
    assert np.array_equal(*gradients)
