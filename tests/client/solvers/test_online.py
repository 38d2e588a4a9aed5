import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDRegressor

from tagma.client.solvers.online import average_iterate, examples, online
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data


def make(dim, samples, clients=1, noise=1.0):
    return MixtureRegression(
        clients=clients, clusters=1, dim=dim, samples=samples, noise=noise, seed=1
    )


def solve(task, data, step=1.0, decay=0.0, normalise=True):
    return online(task, data, step=step, decay=decay, normalise=normalise)


def test_two_examples_by_hand():
    """w_1 = 0; the gradient is 2 (0 - 2) = -4 and L_1 = 4, so w_2 = 1; the average is 1/2."""
    solution = solve(make(1, 2), Data(np.array([[2.0], [1.0]]), np.array([2.0, 3.0])))
    assert solution.model.tolist() == [0.5]
    assert (solution.iterations, solution.stopped) == (2, "end of the stream")


def test_the_longest_input_so_far_and_the_decay_set_the_step_by_hand():
    """Steps 1/4 and 1/(4 * 2): w = 0, 1, 1 + 2/8; a third of the sum is 3/4."""
    data = Data(np.array([[2.0], [1.0], [5.0]]), np.array([2.0, 3.0, 7.0]))
    assert solve(make(1, 3), data, decay=1.0).model.tolist() == [0.75]


def test_a_step_that_is_not_normalised_by_hand():
    """w = 0, 0 + 2/8 * 2 = 1/2; the average is 1/4."""
    data = Data(np.array([[2.0], [1.0]]), np.array([2.0, 3.0]))
    assert solve(make(1, 2), data, step=0.125, normalise=False).model.tolist() == [0.25]


def test_the_pass_agrees_with_scikit_learns_averaged_sgd():
    """It averages the models after, not before, each example: w_2 to w_n over n - 1 of them."""
    task = make(6, 80)
    data = task.train(0)
    peer = SGDRegressor(
        penalty=None, fit_intercept=False, learning_rate="constant", eta0=0.05, shuffle=False,
        average=True, max_iter=1, tol=None,
    )  # fmt: skip
    peer.fit(data.inputs[:-1], data.targets[:-1])
    model = solve(task, data, step=0.05, normalise=False).model
    assert np.allclose(model, peer.coef_ * 79 / 80, atol=1e-12)


class OncePassed:
    """Rows that can be read once, and that nobody may keep."""

    def __init__(self, rows):
        self.rows = rows
        self.begun = 0
        self.alive = weakref.WeakSet()
        self.most_alive = 0

    def __iter__(self):
        self.begun += 1
        assert self.begun == 1, "the stream was read twice"
        source = np.random.default_rng(1)
        for _ in range(self.rows):
            inputs = source.standard_normal((1, 3)).view(Tracked)
            self.alive.add(inputs)
            self.most_alive = max(self.most_alive, len(self.alive))
            yield Data(inputs, np.ones(1))
            del inputs


class Tracked(np.ndarray):
    """An array that a weak set can hold."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


def test_the_stream_is_read_once_and_no_example_is_kept():
    stream = OncePassed(200)
    gradient = make(3, 1).gradient
    solution = average_iterate(gradient, stream, np.zeros(3), step=1.0, decay=0.0, normalise=True)
    assert solution.iterations == 200
    assert stream.most_alive <= 2


def test_the_rows_of_data_are_views():
    data = make(3, 5).train(0)
    rows = list(examples(data))
    assert len(rows) == 5
    assert all(np.shares_memory(row.inputs, data.inputs) for row in rows)
    assert np.array_equal(np.vstack([row.inputs for row in rows]), data.inputs)


def test_with_steps_of_one_over_t_the_iterates_are_running_means():
    points = np.random.default_rng(2).normal(size=(40, 3))
    stream = (Data(row[None], np.zeros(1)) for row in points)
    solution = average_iterate(
        lambda model, example: model - example.inputs[0],
        stream, np.zeros(3), step=1.0, decay=1.0, normalise=False,
    )  # fmt: skip
    means = np.cumsum(points, axis=0)[:-1] / np.arange(1, 40)[:, None]
    assert np.allclose(solution.model, means.sum(axis=0) / 40)


def test_the_bias_towards_zero_is_that_of_the_formula():
    eta, n = 0.02, 60
    task = make(4, n, clients=400, noise=0.0)
    models = [solve(task, task.train(i), eta, normalise=False).model for i in range(400)]
    truth = task.truth().centres[0]
    measured = 1 - np.mean(models, axis=0) @ truth / (truth @ truth)
    assert measured == pytest.approx((1 - (1 - eta) ** n) / (n * eta), abs=0.01)


def test_more_examples_bring_the_model_to_the_truth():
    errors = []
    for samples in (100, 1000, 10000):
        task = make(10, samples)
        errors.append(np.linalg.norm(solve(task, task.train(0)).model - task.truth().centres[0]))
    assert errors[0] > 3 * errors[1] > 6 * errors[2]


@settings(max_examples=25, deadline=None)
@given(power=st.integers(-20, 20), seed=st.integers(0, 1000), decay=st.sampled_from([0.0, 0.5]))
def test_units_of_inputs_and_targets_carry_over_exactly(power, seed, decay):
    source, unit = np.random.default_rng(seed), 2.0**power
    inputs, targets = source.normal(size=(30, 3)), source.normal(size=30)
    task = make(3, 30)
    model = solve(task, Data(inputs, targets), decay=decay).model
    assert np.array_equal(
        solve(task, Data(unit * inputs, targets), decay=decay).model * unit, model
    )
    assert np.array_equal(
        solve(task, Data(inputs, unit * targets), decay=decay).model, unit * model
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_rotated_inputs_give_the_rotated_model(seed):
    source = np.random.default_rng(seed)
    inputs, targets = source.normal(size=(30, 3)), source.normal(size=30)
    rotation = np.linalg.qr(source.normal(size=(3, 3)))[0]
    straight = solve(make(3, 30), Data(inputs, targets)).model
    turned = solve(make(3, 30), Data(inputs @ rotation, targets)).model
    assert np.allclose(straight @ rotation, turned)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_that_is_too_long_ends_the_pass_with_a_finite_model():
    task = make(5, 2000)
    solution = solve(task, task.train(0), step=100.0, normalise=False)
    assert solution.stopped == "diverged"
    assert solution.iterations < 2000
    assert np.isfinite(solution.model).all()


def test_the_default_step_is_stable_for_long_inputs():
    task = make(100, 2000)
    model = solve(task, task.train(0)).model
    assert np.linalg.norm(model - task.truth().centres[0]) / 10 < 0.15


def test_inputs_of_zero_change_nothing():
    data = Data(np.zeros((3, 2)), np.ones(3))
    assert solve(make(2, 3), data).model.tolist() == [0.0, 0.0]
