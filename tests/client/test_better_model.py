"""Clients keep the model of their cluster unless another one is clearly better."""

import numpy as np
import pytest

from tagma.client.better_model import PARTS, clearly_better
from tagma.client.local_client import make_client, model_used
from tagma.exchange import NO_MODEL
from tagma.settings import compose
from tagma.tasks.task import Data, layout_of
from tagma.tasks.task_choice import task_of


def used(*costs, own=0, examples=PARTS):
    """The choice of one client by what each model costs on each of its examples."""
    table = np.array([np.broadcast_to(one, examples) for one in costs], dtype=float)
    data = Data(np.arange(examples), np.zeros(examples))
    cost = lambda row, some: float(table[row, some.inputs].mean())  # noqa: E731
    return clearly_better(cost, len(costs), data, own)


SPREAD = np.arange(PARTS) % 2 * 2.0
"""0, 2, 0, 2, ...: mean 1, variance 10 / 9, squared error 1 / 9."""


def test_by_hand_two_standard_errors_are_the_bound():
    assert used(SPREAD, 1 - 0.66) == 0  # 2 * (1 / 3) = 0.667
    assert used(SPREAD, 1 - 0.67) == 1
    both = 2 * np.sqrt(2 / 9)  # both are measured with error: 0.943
    assert used(SPREAD + 1, SPREAD + 1.01 - both) == 0
    assert used(SPREAD + 1, SPREAD + 0.99 - both) == 1


@pytest.mark.parametrize("saved", [0.01, 0.3])
def test_a_copy_that_saves_a_little_everywhere_is_not_used(saved):
    costs = np.random.default_rng(1).exponential(size=PARTS)
    assert used(costs, costs * (1 - saved)) == 0


def test_of_several_that_are_clearly_better_it_is_the_best():
    assert used(SPREAD + 9, SPREAD, SPREAD + 1) == 1
    assert used(SPREAD + 9, SPREAD + 1, SPREAD) == 2
    assert used(SPREAD + 9, SPREAD, own=1) == 1


def test_without_a_model_of_its_own_a_client_takes_the_best():
    assert used(SPREAD, SPREAD - 0.01, own=NO_MODEL) == 1


def test_with_few_examples_nothing_is_clear():
    assert used(9, 0, examples=4) == 0
    assert used(9, 0, examples=5) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_cost_that_is_no_number_is_left_and_never_chosen(bad):
    assert used(np.where(np.arange(PARTS) == 3, bad, 1.0), 5) == 1
    assert used(5, bad) == 0


@pytest.fixture(scope="module")
def digits():
    """A task of turned digits, its clients, and the model of each of two clusters."""
    settings = compose(["task=rotated_digits", "task.clients=12", "task.clusters=2"])
    task = task_of(settings)
    clients = [make_client(settings, number) for number in range(task.clients)]
    start, models = layout_of(task).vector(task.initial()), []
    for cluster in range(2):
        own = [c.data for c in clients if task.truth().labels[c.number] == cluster]
        parts = zip(*((d.inputs, d.targets) for d in own), strict=True)
        data = Data(*map(np.concatenate, parts))
        model = start
        for _ in range(150):
            model = model - np.asarray(0.5, start.dtype) * task.gradient(model, data)
        models.append(model)
    return task, clients, models


def test_whoever_is_in_the_wrong_cluster_uses_the_model_of_the_right_one(digits):
    task, clients, models = digits
    for client in clients:
        for own in range(2):
            found = model_used(task, client.data, [(model, {}) for model in models], own)
            assert found == task.truth().labels[client.number]


@pytest.mark.parametrize("scale", [1.001, 1.2, 3.0])
def test_a_copy_of_a_clusters_model_with_larger_scores_or_some_noise_is_used_by_nobody(
    digits, scale
):
    """Its loss is less for most, which is all that a Byzantine cluster has to see to."""
    task, clients, models = digits
    last = sum(part.size for part in layout_of(task).parameters[-2:])
    random, lured = np.random.default_rng(0), 0
    for client in clients:
        own = task.truth().labels[client.number]
        copy = models[own].copy()
        copy[-last:] *= np.asarray(scale, copy.dtype)
        lured += task.loss(copy, client.data) < task.loss(models[own], client.data)
        copy += (0.01 * copy.std() * random.normal(size=len(copy))).astype(copy.dtype)
        offered = [(model, {}) for model in (*models, copy)]
        assert model_used(task, client.data, offered, own) == own
    assert lured > len(clients) / 2
