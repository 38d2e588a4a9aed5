import numpy as np
import pytest
import torch
from torch import nn

from tagma.client.solvers.solver_choice import solver_of
from tagma.client.training import LocalTraining, training_of
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.settings import compose
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data, layout_of
from tagma.tasks.torch_module import TorchModule


def regression(dim=1, samples=60):
    return MixtureRegression(clients=2, clusters=1, dim=dim, samples=samples, noise=1.0, seed=1)


def at_two(count):
    """Examples whose loss is (w - 2)^2 / 2, each of them."""
    return Data(np.ones((count, 1)), np.full(count, 2.0))


def train(training, data, model=(0.0,), task=None, **options):
    return training(
        task or regression(), np.array(model), data, np.random.default_rng(0), **options
    )


def test_full_batch_steps_by_hand():
    """Half of the way to 2 in every step: 1, 1.5, 1.75."""
    found = train(LocalTraining(learning_rate=0.5, steps=3), at_two(4))
    assert found.model.tolist() == [1.75]
    assert (found.steps, found.stopped) == (3, "all steps")


def test_full_batch_steps_are_plain_gradient_descent_bit_for_bit():
    task = regression(5)
    data, model = task.train(0), np.linspace(-1, 1, 5)
    found = LocalTraining(learning_rate=0.3, steps=5)(task, model, data, np.random.default_rng(0))
    for _ in range(5):
        model = model - 0.3 * task.gradient(model, data)
    assert np.array_equal(found.model, model)


def test_the_proximal_term_by_hand():
    """From 0: slope -2, w = 1; then slope -1 + 3 (1 - 0) = 2, w = 0; it pulls to the received."""
    training = LocalTraining(learning_rate=0.5, steps=2)
    assert train(training, at_two(4), proximal=3.0).model.tolist() == [0.0]


def test_the_rate_shrinks_with_the_passes_by_hand():
    """Batches of 2 of 4 examples: two steps of 1/2, then two of 1/4."""
    training = LocalTraining(learning_rate=0.5, epochs=2, batch_size=2, decay=1.0)
    assert train(training, at_two(4)).model.tolist() == [2 - 2 * 0.5**2 * 0.75**2]


class Recorder:
    """A task that keeps the batches it sees."""

    def __init__(self):
        self.seen = []

    def gradient(self, model, data):
        self.seen.append(data.targets)
        return np.zeros_like(model)


def test_steps_of_small_batches_go_through_as_many_passes_as_they_need():
    task, data = Recorder(), Data(np.zeros((5, 1)), np.arange(5.0))
    found = train(LocalTraining(learning_rate=1, steps=5, batch_size=2), data, task=task)
    assert found.steps == 5
    assert [len(batch) for batch in task.seen] == [2, 2, 1, 2, 2]
    assert sorted(np.concatenate(task.seen[:3])) == list(range(5))
    assert len(set(np.concatenate(task.seen[3:]))) == 4


def test_epochs_count_where_both_are_given_and_one_must_be():
    assert train(LocalTraining(learning_rate=0.5, epochs=2, steps=9), at_two(4)).steps == 2
    with pytest.raises(
        SettingError, match=r"^training\.epochs=None: needs a number, or training.steps"
    ):
        LocalTraining(learning_rate=0.5)


def test_the_order_of_examples_follows_from_the_stream_alone():
    data = Data(np.zeros((20, 1)), np.arange(20.0))
    training = LocalTraining(learning_rate=1.0, epochs=1, batch_size=4)

    def order(*numbers):
        task = Recorder()
        training(task, np.zeros(1), data, stream(0, "training", *numbers))
        return np.concatenate(task.seen).tolist()

    assert order(3, 1) == order(3, 1)
    assert order(3, 1) != order(3, 2)
    assert order(3, 1) != order(4, 1)


def test_full_batches_leave_the_stream_alone():
    random = np.random.default_rng(3)
    LocalTraining(learning_rate=0.1, epochs=4)(regression(), np.zeros(1), at_two(3), random)
    assert random.random() == np.random.default_rng(3).random()


@pytest.mark.parametrize("optimiser", [None, {"_target_": "torch.optim.SGD"}])
def test_a_rate_that_is_too_high_ends_with_the_last_finite_model(optimiser):
    training = LocalTraining(learning_rate=1e200, steps=9, optimiser=optimiser)
    with np.errstate(over="ignore"):
        found = train(training, at_two(4))
    assert found.stopped == "diverged"
    assert found.steps < 9
    assert np.isfinite(found.model).all()


def test_a_client_without_examples_returns_what_it_received():
    for training in (
        LocalTraining(learning_rate=1.0, steps=2, batch_size=4),
        LocalTraining(learning_rate=1.0, epochs=2),
    ):
        found = train(training, at_two(0), model=(3.0,))
        assert (found.model.tolist(), found.steps) == ([3.0], 0)


class Net(TorchModule):
    """Two layers with a batch normalisation between them; nobody asks for its data."""

    seed = 3
    clients = clusters = 1
    train = test = truth = warnings = lambda self, *client: None

    def module(self):
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))


def net_data(count=24):
    source = np.random.default_rng(5)
    inputs = source.normal(size=(count, 4))
    return Data(inputs, inputs[:, :3].argmax(axis=1))


OPTIMISERS = {
    "torch.optim.SGD": {"momentum": 0.9, "weight_decay": 0.01},
    "torch.optim.Adam": {"betas": [0.8, 0.99]},
    "torch.optim.AdamW": {},
    "torch.optim.RMSprop": {},
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_of_torch_does_what_it_does_to_the_module(name):
    task, data = Net(), net_data()
    layout, initial = layout_of(task), task.initial()
    options = OPTIMISERS[name]
    training = LocalTraining(
        learning_rate=0.02, epochs=3, batch_size=8, optimiser={"_target_": name, **options}
    )
    start = layout.vector(initial)
    kept = start.copy()
    buffers = {part.name: initial[part.name] for part in layout.buffers}
    found = training(task, start, data, np.random.default_rng(7), buffers=buffers)

    module = task.module()
    module.load_state_dict({key: torch.tensor(value) for key, value in initial.items()})
    stepper = getattr(torch.optim, name.rpartition(".")[2])(module.parameters(), lr=0.02, **options)
    random = np.random.default_rng(7)
    for _ in range(3):
        order = random.permutation(24)
        for rows in (order[:8], order[8:16], order[16:]):
            stepper.zero_grad()
            outputs = module(torch.tensor(data.inputs[rows], dtype=torch.float32))
            nn.functional.cross_entropy(outputs, torch.tensor(data.targets[rows])).backward()
            stepper.step()
    after = layout.named(found.model, found.buffers)
    assert list(after) == list(module.state_dict())
    for key, value in module.state_dict().items():
        assert np.allclose(after[key], value, atol=2e-6), key
    assert found.buffers["1.num_batches_tracked"] == 9
    assert found.model.dtype == np.float32
    assert np.array_equal(start, kept)


def test_plain_descent_and_torchs_are_the_same():
    data = net_data()
    task = Net()
    start = layout_of(task).vector(task.initial())
    models = [
        LocalTraining(learning_rate=0.1, epochs=2, batch_size=5, optimiser=optimiser)(
            task, start, data, np.random.default_rng(1)
        ).model
        for optimiser in (None, {"_target_": "torch.optim.SGD"})
    ]
    assert np.allclose(*models, atol=1e-6)


@pytest.mark.parametrize(
    ("optimiser", "line"),
    [
        ({"_target_": "torch.optim.Adm"}, r"training.optimiser._target_=torch.optim.Adm: cannot"),
        ({"_target_": "torch.optim.Adam", "bettas": 3}, r"training.optimiser=.*bettas"),
        ({"_target_": "torch.optim.Adam", "lr": 0.1}, r"training.optimiser=.*'lr'"),
        ({"_target_": "torch.optim.LBFGS"}, r"training.optimiser=.*closure"),
    ],
)
def test_an_optimiser_that_does_not_work_is_one_clear_line(optimiser, line):
    with pytest.raises(SettingError, match=line) as caught:
        LocalTraining(learning_rate=0.1, steps=1, optimiser=optimiser)
    assert "\n" not in str(caught.value)


def chosen(*overrides):
    return training_of(compose(overrides))


def test_by_default_training_is_what_the_optimiser_says():
    training = chosen("optimiser=local", "optimiser.step=0.3", "optimiser.local_steps=7")
    assert (training.learning_rate, training.steps, training.epochs) == (0.3, 7, None)
    training = chosen("optimiser=local", "training.epochs=2", "training.learning_rate=0.2")
    assert (training.learning_rate, training.epochs, training.batch_size) == (0.2, 2, None)


@pytest.mark.parametrize("name", ["minibatch", "adam"])
def test_the_choices_train(name):
    task, data = Net(), net_data()
    start = layout_of(task).vector(task.initial())
    found = chosen(f"training={name}", "training.epochs=100")(
        task, start, data, np.random.default_rng(2)
    )
    assert task.loss(found.model, data) < 0.9 * task.loss(start, data)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_setting_device_reaches_optimisers_of_torch():
    adam = ["optimiser=local", "training=adam"]
    with pytest.raises(SettingError, match=r"^device=cuda: torch finds no GPU"):
        chosen(*adam, "device=cuda")
    with pytest.raises(SettingError, match=r"^device=cuda: torch finds no GPU"):
        solver_of(compose(["solver=training", *adam, "device=cuda"]))(regression(), at_two(4))
    assert train(chosen(*adam, "device=auto"), at_two(4)).steps == 5
