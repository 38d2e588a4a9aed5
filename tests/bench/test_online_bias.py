import numpy as np
import pytest

from tagma.bench.experiments import online_bias
from tagma.client.solvers.solution import Solution
from tagma.settings import compose


def test_bias_and_error_by_hand(monkeypatch):
    """Models of 1/4 and 3/4 of the truth fall short by a half on average."""
    settings = compose(["task.clients=2", "task.clusters=1", "task.dim=2", "seed=2"])
    truth = online_bias.task_of(settings).truth().centres[0]
    assert truth.any()
    models = iter([0.25 * truth, 0.75 * truth])
    monkeypatch.setattr(
        online_bias, "solver_of", lambda _: lambda task, data: Solution(next(models), 1, "")
    )
    figures = online_bias.bias_and_error(settings)
    assert figures.bias == pytest.approx(0.5)
    assert figures.error == pytest.approx(np.sqrt((0.25**2 + 0.75**2) / 2 * (truth @ truth) / 2))


def test_the_bias_of_the_online_solver_falls_with_the_examples():
    shared = ["task.clients=5", "task.clusters=1", "task.dim=10"]
    few, many = (
        online_bias.bias_and_error(compose([*shared, "solver=online", f"task.samples={n}"]))
        for n in (50, 1000)
    )
    least_squares = online_bias.bias_and_error(compose([*shared, "task.samples=1000"]))
    assert 0.2 < few.bias < 0.6
    assert abs(many.bias) < 0.05
    assert least_squares.error < many.error < few.error
