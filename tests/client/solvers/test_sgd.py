import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDRegressor

from tagma.client.solvers.sgd import sgd
from tagma.client.solvers.solver_choice import solver_of
from tagma.settings import compose
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data
from tagma.tasks.task_choice import task_of


def make(dim, samples=60, noise=1.0):
    return MixtureRegression(clients=2, clusters=1, dim=dim, samples=samples, noise=noise, seed=1)


def solve(task, data, **options):
    chosen = {"step": 0.1, "batch": 8, "epochs": 3, "decay": 0.0, "seed": 0} | options
    return sgd(task, data, **chosen)


def test_two_epochs_of_one_batch_by_hand():
    """The loss is (w - 2)^2 / 2: w = 0, then 0 + 1 with step 1/2, then 1 + 1/4 with step 1/4."""
    data = Data(np.ones((3, 1)), np.full(3, 2.0))
    solution = solve(make(1), data, step=0.5, batch=3, epochs=2, decay=1.0)
    assert solution.model.tolist() == [1.25]
    assert (solution.iterations, solution.stopped) == (2, "end of the last epoch")


def test_equal_examples_make_every_batch_a_gradient_step_by_hand():
    data = Data(np.ones((5, 1)), np.full(5, 2.0))
    solution = solve(make(1), data, step=0.5, batch=2, epochs=1)
    assert solution.iterations == 3
    assert solution.model.tolist() == [2 - 2 * 0.5**3]


def test_auto_is_one_over_the_largest_curvature():
    """The loss is 4 (w - 2)^2 / 2 per example: one step of 1/4 ends at its minimiser."""
    data = Data(np.full((5, 1), 2.0), np.full(5, 4.0))
    solution = solve(make(1), data, step="auto", batch=None, epochs=1)
    assert solution.model == pytest.approx([2.0])


@pytest.mark.parametrize("given", [["training=default", "optimiser.step=auto"],
                                   ["training.learning_rate=auto"],
                                   ["training=default", "preset=tagma"]])  # fmt: skip
def test_neural_tasks_take_the_first_rounds_step_from_training_also_when_it_is_auto(given):
    chosen = compose(["task=rotated_digits", *given])
    task = task_of(chosen)
    solution = solver_of(chosen)(task, task.train(0))
    assert task.loss(solution.model, task.train(0)) < np.log(10)


def test_one_batch_of_everything_is_gradient_descent():
    task = make(4)
    data = task.train(0)
    model = np.zeros(4)
    for _ in range(7):
        model = model - 0.3 * task.gradient(model, data)
    assert np.allclose(solve(task, data, step=0.3, batch=100, epochs=7).model, model)


def test_batches_of_one_agree_with_scikit_learns_sgd_on_the_same_order():
    """All examples but one are the same, and that one comes first for both."""
    task = make(3)
    row = np.array([[1.0, -2.0, 0.5]])
    data = Data(np.repeat(row, 20, axis=0), np.full(20, 3.0))
    peer = SGDRegressor(
        penalty=None, fit_intercept=False, learning_rate="constant", eta0=0.05, shuffle=False,
        max_iter=4, tol=None,
    )  # fmt: skip
    peer.fit(data.inputs, data.targets)
    assert np.allclose(solve(task, data, step=0.05, batch=1, epochs=4).model, peer.coef_)


def test_shrinking_steps_converge_to_least_squares():
    task = make(5, samples=200)
    data = task.train(0)
    reference = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    far, near = (
        np.linalg.norm(solve(task, data, epochs=epochs, decay=1.0).model - reference)
        for epochs in (5, 400)
    )
    assert near < 0.01 < far


def test_every_example_is_used_once_an_epoch():
    seen = []

    class Recorder:
        def initial(self):
            return {"w": np.zeros(1)}

        def gradient(self, model, data):
            seen.append(data.targets.tolist())
            return np.zeros(1)

    data = Data(np.arange(7.0)[:, None], np.arange(7.0))
    solve(Recorder(), data, batch=3, epochs=2)
    assert [len(batch) for batch in seen] == [3, 3, 1, 3, 3, 1]
    first, second = ([x for batch in part for x in batch] for part in (seen[:3], seen[3:]))
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second


def test_seed_and_data_decide_the_order_and_nothing_else_does():
    task = make(4)
    data = task.train(0)
    first, again = (solve(task, data).model for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(solve(task, data, seed=1).model, first)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), power=st.integers(-20, 20))
def test_the_model_scales_with_the_targets(seed, power):
    source, unit = np.random.default_rng(seed), 2.0**power
    inputs, targets = source.normal(size=(30, 3)), source.normal(size=30)
    model = solve(make(3), Data(inputs, targets)).model
    assert np.array_equal(solve(make(3), Data(inputs, unit * targets)).model, unit * model)


def test_a_step_that_is_too_long_ends_with_a_finite_model():
    task = make(5, samples=2000)
    with np.errstate(over="ignore"):
        solution = solve(task, task.train(0), step=100.0, batch=1)
    assert solution.stopped == "diverged"
    assert np.isfinite(solution.model).all()


@pytest.mark.parametrize(
    "task", ["mixture_regression", "mixture_logistic", "mixture_huber", "mixture_logcosh"]
)
def test_every_task_takes_it_from_the_settings(task):
    chosen = compose([f"task={task}", "solver=sgd", "task.dim=3", "task.samples=200", "seed=4"])
    made = task_of(chosen)
    solution = solver_of(chosen)(made, made.train(0))
    assert solution.stopped == "end of the last epoch"
    assert np.linalg.norm(solution.model - made.truth().centres[made.truth().labels[0]]) < 1.5
