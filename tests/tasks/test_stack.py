import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagma.tasks.mean_estimation import MeanEstimation
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.mixture_logcosh import MixtureLogCosh
from tagma.tasks.mixture_logistic import MixtureLogistic
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.stack import Stack, is_stackable
from tagma.tasks.task import Data
from tests.tasks.only_model import perceptron

SIZE = {"clients": 4, "clusters": 2, "dim": 3, "samples": 5, "seed": 1}
HEAVY = SIZE | {"noise": 1.0, "freedom": 2.0, "delta": 0.7}
LINEAR = [
    MixtureRegression(**SIZE, noise=1.0),
    MixtureHuber(**HEAVY),
    MixtureLogistic(**SIZE, scale=1.0),
    MixtureLogCosh(**HEAVY),
]


@pytest.fixture(scope="module")
def means(features):
    return MeanEstimation(
        data=str(features), scaling="none", gamma=2.0, clusters=3, min_cluster=20, samples=4,
        clients=None, adversarial=0.3, seed=1,
    )  # fmt: skip


def two():
    """One client with two examples, one with one."""
    return Stack.of(
        [
            Data(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5, 6])),
            Data(np.array([[7.0, 8.0]]), np.array([9])),
        ],
        np.float32,
    )


def drawn(counts, dim, classes=None, seed=0, dtype=np.float64):
    """Clients with these numbers of examples; targets are numbers, or classes."""
    random = np.random.default_rng(seed)
    return [
        Data(
            random.normal(size=(count, dim)).astype(dtype),
            random.normal(size=count) if classes is None else random.integers(0, classes, count),
        )
        for count in counts
    ]


def assert_as_one_by_one(task, models, data, digits):
    """To these digits of a gradient's largest entry, or of 1, the size of the numbers it sums."""
    stack = Stack.of(data, models.dtype)
    gradients, losses = task.gradients(models, stack), task.losses(models, stack)
    assert gradients.shape == models.shape
    assert gradients.dtype == models.dtype
    assert losses.shape == (len(models),)
    for model, each, gradient, loss in zip(models, data, gradients, losses, strict=True):
        if len(each) == 0:
            assert not gradient.any()
            assert np.isnan(loss)
        else:
            alone = task.gradient(model, each)
            assert np.abs(gradient - alone).max() <= digits * max(1, np.abs(alone).max())
            assert loss == pytest.approx(task.loss(model, each), rel=digits, abs=digits)


def test_clients_are_padded_to_the_longest_and_weighted_by_their_numbers():
    stack = two()
    assert stack.inputs.tolist() == [[[1, 2], [3, 4]], [[7, 8], [0, 0]]]
    assert stack.targets.tolist() == [[5, 6], [9, 0]]
    assert stack.weights.tolist() == [[0.5, 0.5], [1, 0]]
    assert stack.counts.tolist() == [2, 1]
    assert stack.inputs.dtype == stack.weights.dtype == np.float32
    assert stack.targets.dtype == np.int64


def test_clients_are_taken_by_their_rows():
    stack = two().take(np.array([1, 1, 0]))
    assert stack.targets.tolist() == [[9, 0], [9, 0], [5, 6]]
    assert stack.weights.tolist() == [[1, 0], [1, 0], [0.5, 0.5]]
    assert stack.inputs[2].tolist() == [[1, 2], [3, 4]]


def test_a_batch_has_the_examples_in_order_and_its_own_weights():
    batch = two().batch(np.array([[1, 0, 1], [0, -1, -1]]))
    assert batch.inputs.tolist() == [[[3, 4], [1, 2], [3, 4]], [[7, 8], [0, 0], [0, 0]]]
    assert batch.targets.tolist() == [[6, 5, 6], [9, 0, 0]]
    assert np.allclose(batch.weights, [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]])
    assert batch.weights.dtype == np.float32
    assert batch.counts.tolist() == [3, 1]


def test_a_slice_of_clients_copies_nothing():
    stack = two()
    assert np.shares_memory(stack.take(slice(1, 2)).inputs, stack.inputs)
    assert stack.take(slice(1, 2)).targets.tolist() == [[9, 0]]


def test_who_is_left_out_of_a_batch_has_the_gradient_zero():
    task, models = LINEAR[0], np.ones((2, 3))
    stack = Stack.of([task.train(0), task.train(1)], np.float64)
    gradients = task.gradients(models, stack.batch(np.array([[-1, -1], [4, 2]])))
    data = task.train(1)
    assert not gradients[0].any()
    rows = [4, 2]
    alone = task.gradient(models[1], Data(data.inputs[rows], data.targets[rows]))
    assert np.allclose(gradients[1], alone, rtol=1e-12)


def test_padding_does_not_see_examples_that_are_not_in_the_batch():
    data = Data(np.array([[np.inf], [1.0]]), np.array([1.0, 2.0]))
    batch = Stack.of([data], np.float64).batch(np.array([[1, -1]]))
    assert batch.inputs.tolist() == [[[1.0], [0.0]]]


@pytest.mark.parametrize("task", LINEAR, ids=lambda task: type(task).__name__)
@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(0, 6), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_linear_mixtures_compute_for_all_what_they_do_for_one(task, counts, seed):
    data = drawn(counts, 3, classes=2 if isinstance(task, MixtureLogistic) else None, seed=seed)
    data = [Data(each.inputs, each.targets.astype(np.float64)) for each in data]
    models = np.random.default_rng(seed + 1).normal(size=(len(counts), 3))
    assert is_stackable(task)
    assert_as_one_by_one(task, models, data, 1e-12)


def test_means_are_estimated_for_all_as_for_one(means):
    data = [means.train(client) for client in range(5)]
    data[1] = Data(data[1].inputs[:2], data[1].targets[:2])
    data[2] = Data(data[2].inputs[:0], data[2].targets[:0])
    models = np.random.default_rng(0).normal(size=(5, means.dim))
    assert is_stackable(means)
    assert_as_one_by_one(means, models, data, 1e-12)


@pytest.mark.parametrize("widths", [(5, 3), (5, 7, 3), (6, 5, 4, 3)])
@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@settings(max_examples=15, deadline=None)
@given(counts=st.lists(st.integers(0, 6), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_perceptrons_compute_for_all_what_they_do_for_one(widths, dtype, digits, counts, seed):
    task = perceptron(widths)
    data = drawn(counts, widths[0], classes=3, seed=seed, dtype=dtype)
    size = sum(array.size for array in task.initial().values())
    models = np.random.default_rng(seed + 1).normal(size=(len(counts), size)).astype(dtype)
    assert is_stackable(task)
    assert_as_one_by_one(task, models, data, digits)


def test_a_model_that_clients_share_need_not_be_copied():
    task, data = perceptron((4, 6, 3)), drawn([3, 5], 4, classes=3, dtype=np.float32)
    model = np.concatenate([array.ravel() for array in task.initial().values()])
    shared = np.broadcast_to(model, (2, len(model)))
    assert_as_one_by_one(task, shared, data, 1e-5)


def test_a_class_with_another_gradient_or_loss_is_taken_client_by_client():
    class Penalised(MixtureRegression):
        def gradient(self, model, data):
            return super().gradient(model, data) + model

    class Doubled(MixtureRegression):
        def loss(self, model, data):
            return 2 * super().loss(model, data)

    class Both(Penalised):
        def gradients(self, models, stack):
            return super().gradients(models, stack) + models

    found = [is_stackable(kind(**SIZE, noise=1.0)) for kind in (Penalised, Doubled, Both)]
    assert found == [False, False, True]
