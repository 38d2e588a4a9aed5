import numpy as np
import pytest
from scipy.optimize import check_grad, linprog
from scipy.special import expit
from sklearn.metrics import log_loss

from tagma.attacks.local.poisoned_regression import PoisonedRegression
from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.rng import stream
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, join_overrides
from tagma.tasks.mixture_logistic import MixtureLogistic
from tagma.tasks.task import Data, LeastSquares, WithCoefficients


def make(**changes):
    settings = {"clients": 6, "clusters": 2, "dim": 3, "samples": 20000, "scale": 1.0, "seed": 2}
    return MixtureLogistic(**(settings | changes))


def own_coefficients(task, client):
    return task.truth().centres[task.truth().labels[client]]


def test_a_label_is_one_with_the_probability_of_its_score():
    task = make()
    data = task.train(4)
    probabilities = expit(data.inputs @ own_coefficients(task, 4))
    assert set(data.targets) == {0.0, 1.0}
    for low in (0.0, 0.25, 0.5, 0.75):
        chosen = (low <= probabilities) & (probabilities < low + 0.25)
        expected = probabilities[chosen].mean()
        assert data.targets[chosen].mean() == pytest.approx(expected, abs=0.025)


def test_the_scale_multiplies_the_true_coefficients_only():
    small, large = make(), make(scale=2.5)
    assert np.array_equal(2.5 * small.truth().centres, large.truth().centres)
    assert np.array_equal(small.train(0).inputs, large.train(0).inputs)
    assert set(np.unique(large.truth().centres)) == {0.0, 2.5}


@pytest.mark.parametrize(
    ("score", "label", "loss"),
    [
        (0.0, 1.0, np.log(2)),
        (0.0, 0.0, np.log(2)),
        (1000.0, 0.0, 1000.0),
        (1000.0, 1.0, 0.0),
        (-1000.0, 1.0, 1000.0),
        (40.0, 1.0, np.exp(-40)),
        (-40.0, 0.0, np.exp(-40)),
    ],
)
def test_the_loss_by_hand_keeps_its_digits_at_large_scores(score, label, loss):
    data = Data(np.array([[score, 0.0, 0.0]]), np.array([label]))
    assert make().loss(np.array([1.0, 5.0, 5.0]), data) == pytest.approx(loss, rel=1e-12, abs=0)


def test_the_loss_agrees_with_scikit_learn():
    task = make(samples=50)
    data, model = task.train(0), np.array([0.3, -1.0, 2.0])
    reference = log_loss(data.targets, expit(data.inputs @ model))
    assert task.loss(model, data) == pytest.approx(reference, rel=1e-12)


def test_the_gradient_by_hand():
    data = Data(np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]), np.array([1.0, 0.0]))
    assert make().gradient(np.zeros(3), data).tolist() == [-0.5, 1.0, 0.0]


def test_the_gradient_is_that_of_the_loss():
    task = make(samples=20)
    data, model = task.train(0), np.array([0.3, -1.0, 2.0])
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-6


def test_the_risk_is_least_at_the_true_coefficients():
    task = make(samples=200000)
    fresh, truth = task.test(1), own_coefficients(task, 1)
    assert np.abs(task.gradient(truth, fresh)).max() < 0.005
    assert task.loss(truth, fresh) < min(
        task.loss(0.8 * truth, fresh), task.loss(1.2 * truth, fresh)
    )


def test_other_coefficients_keep_inputs_and_chance():
    task = make()
    honest, same = task.train(2), task.data_with(2, own_coefficients(task, 2))
    assert np.array_equal(honest.targets, same.targets)
    coin = task.data_with(2, np.zeros(3))
    assert np.array_equal(honest.inputs, coin.inputs)
    assert abs(coin.targets.mean() - 0.5) < 0.02
    # The same chance decides: raising every score can only turn zeros into ones.
    raised = task.data_with(2, own_coefficients(task, 2) + 1.0)
    up = raised.inputs.sum(axis=1) > 0
    assert (raised.targets[up] >= honest.targets[up]).all()


def test_the_papers_attack_takes_every_task_with_coefficients():
    task = make()
    assert isinstance(task, WithCoefficients)
    assert not isinstance(task, LeastSquares)
    poisoned = PoisonedRegression(scale=3.0).data(task, 1, stream(0, "x"))
    false = task.data_with(1, 3.0 * stream(0, "x").integers(0, 2, size=3))
    assert np.array_equal(poisoned.targets, false.targets)


def separable(data):
    """Whether a plane separates the labels: a linear programme has a solution."""
    signed = (2 * data.targets - 1)[:, None] * data.inputs
    ones = np.ones(len(signed))
    found = linprog(np.zeros(signed.shape[1]), A_ub=-signed, b_ub=-ones, bounds=(None, None))
    return found.status == 0


@pytest.mark.parametrize(("dim", "scale"), [(30, 0.1), (30, 1.0), (30, 2.0)])
def test_the_warning_begins_where_most_labels_can_be_separated(dim, scale):
    shared = {"clients": 12, "clusters": 1, "dim": dim, "scale": scale}
    length = np.linalg.norm(make(**shared).truth().centres)
    threshold = dim * np.sqrt(4 + length**2)
    few, many = (make(**shared, samples=round(f * threshold)) for f in (0.7, 1.4))
    assert few.warnings()
    assert not many.warnings()
    assert np.mean([separable(few.train(i)) for i in range(12)]) > 0.8
    assert np.mean([separable(many.train(i)) for i in range(12)]) < 0.2


def test_a_federation_under_attack_finds_the_clusters(tmp_path):
    settings = compose([
        "task=mixture_logistic", "solver=lbfgs", "optimiser.step=4", "task.clients=20",
        "task.clusters=2", "task.dim=5", "task.samples=400", "rounds=10",
    ])  # fmt: skip
    grid = InProcessGrid(client_app, 20, join_overrides(settings.overrides))
    run_federation(grid, settings, tmp_path, [])
    metrics = read_metrics(tmp_path)
    assert metrics["misclustering"] == 0
    assert metrics["estimation_error"] < 0.15
    assert all(0 < loss < np.log(2) for loss in metrics["client_loss"])
