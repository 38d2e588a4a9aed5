"""Clients that answer together answer as each would alone."""

import numpy as np
import pytest

from tagma.client.local_client import make_client
from tagma.client.population import Population
from tagma.client.stacked_clients import StackedClients
from tagma.client.stacked_examples import StackedExamples
from tagma.exchange import FIT, GRADIENT, TRAIN, Request
from tagma.settings import compose
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

DIGITS = ("task=rotated_digits", "task.clients=5", "task.samples=[3,20]", "attack=none")


def both(overrides, work, settings=None):
    """The vectors of some clients, together and alone, from models of their own."""
    chosen = compose(overrides)
    task = task_of(chosen)
    start = layout_of(task).vector(task.initial())
    clients = np.array([0, 2, 3])
    models = np.stack([start + np.asarray(0.01 * k, start.dtype) for k in range(2)])
    request = Request(work, clients, models, np.array([1, 0, 1]), settings or {})
    together = StackedClients(chosen).answer(2, request, lambda row: {}).replies
    alone = [
        make_client(chosen, client).answer(work, (models[row], {}), 2, request.settings).vector
        for client, row in zip(clients.tolist(), request.which.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(together.clients, clients)
    examples = [len(task.train(client)) for client in clients.tolist()]
    np.testing.assert_array_equal(together.examples, examples)
    return together.vectors, np.array(alone)


@pytest.mark.parametrize("work", [FIT, GRADIENT, TRAIN])
def test_the_work_of_some_clients(work):
    together, alone = both(DIGITS, work)
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)


def test_the_pull_towards_the_received_model():
    together, alone = both(DIGITS, TRAIN, {"proximal": 3.0})
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)
    assert abs(together - both(DIGITS, TRAIN)[0]).max() > 1e-3


def test_who_diverges_stops_where_it_would_alone():
    wild = ["training.learning_rate=1e30", "solver.step=1e30"]
    for work in (FIT, TRAIN):
        together, alone = both([*DIGITS, *wild], work)
        assert np.isfinite(together).all()
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("work", [FIT, GRADIENT, TRAIN])
@pytest.mark.parametrize("most", [0, 2**20])
def test_chunks_and_examples_that_are_held_once_change_nothing(work, most, monkeypatch):
    whole, _ = both(DIGITS, work)
    monkeypatch.setattr("tagma.client.population._CHUNK", 6000)
    monkeypatch.setattr("tagma.client.population._LIMIT", 0)
    monkeypatch.setattr("tagma.client.population._MOST", most)
    monkeypatch.setattr("tagma.client.stacked_examples._BLOCK", 1)
    parts = Population(task_of(compose(DIGITS)))
    assert len(parts.chunks) > 1
    assert parts.keeps == (most > 0)
    assert not parts.small
    monkeypatch.setattr("tagma.client.stacked_clients.population_of", lambda settings: parts)
    np.testing.assert_allclose(both(DIGITS, work)[0], whole, rtol=1e-4, atol=1e-6)


def test_examples_that_are_held_once_are_never_stacked_as_a_whole(monkeypatch):
    settings = compose(["task.clients=40", "task.clusters=2", "task.dim=8", "task.samples=6"])
    task = task_of(settings)
    data = [task.train(client) for client in range(40)]
    models = np.random.default_rng(0).normal(size=(40, 8))
    monkeypatch.setattr("tagma.client.stacked_examples._BLOCK", 3 * 6 * 8 * 8)
    together, apart = StackedExamples(task, data), StackedExamples(task, data, twice=False)
    np.testing.assert_allclose(apart.gradients(models), together.gradients(models), rtol=1e-12)
    np.testing.assert_allclose(apart.losses(models), together.losses(models), rtol=1e-12)
    assert "stack" not in vars(apart)
