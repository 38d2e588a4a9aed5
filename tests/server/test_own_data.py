"""What data of the server's own answer to a request is the reference of rules that trust one."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from tagma.client.app import app as client_app
from tagma.exchange import FIT, GRADIENT, Replies, Request
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.server.own_data import own_data_of
from tagma.settings import compose, join_overrides
from tagma.strategies.aggregation import Aggregate
from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.algorithms.fedavg import FedAvg
from tagma.strategies.algorithms.ifca import IFCA
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.round_outcome import Round
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

DIGITS = ["task=rotated_digits", "task.clients=4", "task.clusters=1", "task.samples=20"]


def test_the_server_does_the_work_that_clients_do_on_every_model():
    settings = compose([*DIGITS, "task.server_samples=30"])
    task, answers = task_of(settings), own_data_of(settings)
    start = layout_of(task).vector(task.initial())
    models = [start, 2 * start]
    found = answers(GRADIENT, [(model, {}) for model in models], 1, {})
    data = task.server_data()
    assert np.array_equal(found, [task.gradient(model, data) for model in models])
    assert own_data_of(compose(DIGITS)) is None
    assert own_data_of(compose([])) is None


def trusting(rows, /, *, clients=None, weights=None, reference=None, memory=None, origin=None):
    """The reference and nothing else."""
    return Aggregate(rows.mean(axis=0) if reference is None else reference)


class Counting:
    """Answers the model and the round."""

    def __init__(self):
        self.asked = []

    def __call__(self, work, models, round_number, settings):
        self.asked.append((work, round_number))
        return np.array([model + round_number for model, _ in models])


def replies(*numbers):
    clients = np.arange(len(numbers))
    return Replies(clients, np.array(numbers)[:, None], np.ones(len(numbers), dtype=int))


def run_of(algorithm, own_data):
    run = AlgorithmRun(algorithm, {"w": np.full(1, 10.0)}, own_data=own_data)
    run.clients.joined = {0: 1, 1: 1}
    run.outcome = Round(3)
    return run


def test_it_is_handed_to_the_rule_and_computed_once():
    own = Counting()
    run = run_of(FedAvg(aggregate=trusting, optimiser=GradientStep(step=1.0)), own)
    request = run.algorithm.ask(run.state, 3, np.arange(2))
    tried = run.with_reference(request, replies(1.0, 2.0))
    assert tried.only(np.array([True, False])).reference_for(0).tolist() == [13.0]
    run.learn(request, replies(1.0, 2.0), {})
    assert run.state.model.tolist() == [10.0 - 13.0]
    assert own.asked == [(GRADIENT, 3)]
    run.outcome = Round(4)
    assert run.with_reference(request, replies(1.0)).reference.tolist() == [[14.0]]


def test_every_model_has_its_own():
    algorithm = IFCA(aggregate=trusting, optimiser=GradientStep(step=1.0), k=2, seed=0)
    run = run_of(algorithm, Counting())
    request = run.algorithm.ask(run.state, 3, np.arange(2))
    chosen = Replies(
        np.arange(2), np.ones((2, 1)), np.ones(2, dtype=int), {"choice": np.array([1.0, 0.0])}
    )
    run.learn(request, chosen, {})
    # Every model moves by itself and the round, to minus the round.
    assert run.state.models == pytest.approx(np.full((2, 1), -3.0))


@pytest.mark.parametrize("own_data", [None, lambda *_: np.full((1, 1), np.nan)])
def test_without_a_finite_answer_there_is_no_reference(own_data):
    run = run_of(FedAvg(aggregate=trusting, optimiser=GradientStep(step=1.0)), own_data)
    request = run.algorithm.ask(run.state, 3, np.arange(2))
    assert run.with_reference(request, replies(1.0, 2.0)).reference_for(0) is None


def test_local_models_have_none():
    run = run_of(FedAvg(aggregate=trusting, optimiser=GradientStep(step=1.0)), Counting())
    request = Request(FIT, np.arange(2), np.zeros((1, 1)), np.zeros(2, dtype=int))
    assert run.with_reference(request, replies(1.0, 2.0)).reference is None


def models(folder, rule, samples):
    settings = compose(
        [
            *DIGITS, "strategy=fedavg", f"aggregation={rule}", "attack=none", "rounds=1",
            "training.epochs=1", f"task.server_samples={samples}",
        ]
    )  # fmt: skip
    run_federation(
        InProcessGrid(client_app, 4, join_overrides(settings.overrides)), settings, folder, []
    )
    return load_file(folder / "models.safetensors")


@pytest.mark.parametrize(("rule", "uses"), [("monna", True), ("mean", False)])
def test_a_federation_uses_it_where_its_rule_does(rule, uses, tmp_path):
    without = models(tmp_path / "without", rule, 0)
    given = models(tmp_path / "given", rule, 200)
    assert any(not np.array_equal(without[name], given[name]) for name in without) == uses
