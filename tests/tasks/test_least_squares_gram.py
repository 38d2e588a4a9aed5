import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagma.tasks.least_squares_gram import least_squares, quadratics_of, squared_distances
from tagma.tasks.mean_estimation import MeanEstimation
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data


def make(**changes):
    given = {"clients": 6, "clusters": 2, "dim": 4, "samples": 12, "noise": 0.5, "seed": 1}
    return MixtureRegression(**(given | changes))


def all_of(task):
    return [task.train(client) for client in range(task.clients)]


def one_by_one(task, models, data):
    return np.stack([task.gradient(model, each) for model, each in zip(models, data, strict=True)])


def test_a_parabola_by_hand():
    """Examples (1, 2) and (2, 2): the loss ((w - 2)^2 + (2 w - 2)^2) / 4, least at 1.2."""
    found = least_squares([Data(np.array([[1.0], [2.0]]), np.array([2.0, 2.0]))])
    assert found.hessians.tolist() == [[[2.5]]]
    assert found.points[0, 0] == pytest.approx(1.2)
    assert found.losses(np.array([[1.2]])) == pytest.approx([0.2])
    assert found.losses(np.array([[3.0]])) == pytest.approx([(1 + 16) / 4])
    assert found.gradients(np.array([[3.0]]))[0] == pytest.approx([4.5])


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(4, 20), min_size=1, max_size=5),
    seed=st.integers(0, 999),
    length=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_gradients_and_losses_are_those_of_the_examples(counts, seed, length):
    random, task = np.random.default_rng(seed), make()
    data = [Data(random.normal(size=(n, 4)), random.normal(size=n)) for n in counts]
    models = length * random.normal(size=(len(counts), 4))
    found = least_squares(data)
    alone = one_by_one(task, models, data)
    errors = np.linalg.norm(found.gradients(models) - alone, axis=1)
    assert np.all(errors <= 1e-11 * np.linalg.norm(alone, axis=1))
    losses = [task.loss(model, each) for model, each in zip(models, data, strict=True)]
    assert np.allclose(found.losses(models), losses, rtol=1e-11)


@pytest.mark.parametrize("noise", [2.0, 1e-3, 0.0])
@pytest.mark.parametrize("covariance", ["identity", "ar1"])
def test_a_descent_of_300_rounds_comes_to_the_same_models(noise, covariance):
    task = make(clients=8, dim=20, samples=30, noise=noise, covariance=covariance)
    data, labels = all_of(task), task.truth().labels
    found = least_squares(data)
    ours, theirs = np.zeros((2, 20)), np.zeros((2, 20))
    for _ in range(300):
        prepared, plain = found.gradients(ours[labels]), one_by_one(task, theirs[labels], data)
        for cluster in range(2):
            ours[cluster] -= 0.2 * prepared[labels == cluster].mean(axis=0)
            theirs[cluster] -= 0.2 * plain[labels == cluster].mean(axis=0)
    assert np.abs(ours - theirs).max() <= 1e-13 * np.abs(theirs).max()


def test_small_losses_keep_their_digits_far_from_zero():
    """Around 0 the loss would be the difference of numbers 1e16 times as large."""
    task = make(noise=1e-8)
    data = all_of(task)
    found = least_squares(data)
    losses = [task.loss(point, each) for point, each in zip(found.points, data, strict=True)]
    assert found.losses(found.points) == pytest.approx(losses, rel=1e-9)
    assert np.all(found.losses(found.points) > 0)


@pytest.mark.parametrize("columns", [[0, 0, 1, 2], [0, 0, 0, 0]])
def test_inputs_that_are_dependent_make_no_difference(columns):
    task = make()
    data = [Data(each.inputs[:, columns], each.targets) for each in all_of(task)]
    models = np.random.default_rng(0).normal(size=(6, 4))
    alone = one_by_one(task, models, data)
    errors = np.linalg.norm(least_squares(data).gradients(models) - alone, axis=1)
    assert np.all(errors <= 1e-9 * np.linalg.norm(alone, axis=1))


def test_inputs_that_are_zero_have_the_gradient_zero():
    found = least_squares([Data(np.zeros((3, 2)), np.ones(3))])
    assert found.gradients(np.ones((1, 2))).tolist() == [[0, 0]]
    assert found.losses(np.ones((1, 2))).tolist() == [0.5]


def test_a_client_whose_data_are_no_numbers_spoils_no_other():
    data = all_of(make())
    plain = least_squares(data[1:]).gradients(np.ones((5, 4)))
    data[0] = Data(np.full((12, 4), np.nan), np.full(12, np.inf))
    assert np.array_equal(least_squares(data).gradients(np.ones((6, 4)))[1:], plain)


def test_some_clients_are_taken_by_their_rows():
    found, models = least_squares(all_of(make())), np.random.default_rng(1).normal(size=(6, 4))
    rows = np.array([4, 0, 4])
    assert np.array_equal(found.take(rows).gradients(models[rows]), found.gradients(models)[rows])
    assert np.array_equal(found.take(rows).losses(models[rows]), found.losses(models)[rows])


def test_squared_distances_by_hand():
    """The points 0 and 4, and the point 1."""
    found = squared_distances(
        [Data(np.array([[0.0], [4.0]]), np.zeros(2)), Data(np.array([[1.0]]), np.zeros(1))]
    )
    models = np.array([[3.0], [3.0]])
    assert found.gradients(models).tolist() == [[1], [2]]
    assert found.losses(models).tolist() == [(9 + 1) / 4, 2]
    assert found.take(np.array([1])).losses(models[:1]).tolist() == [2]


def test_least_squares_pay_only_where_examples_are_more_than_coefficients():
    wide = make(dim=12)
    assert quadratics_of(wide, all_of(wide)) is None
    task = make()
    assert quadratics_of(task, all_of(task)).hessians.shape == (6, 4, 4)
    huber = MixtureHuber(
        clients=2, clusters=1, dim=2, samples=9, noise=1.0, freedom=2.0, delta=1.0, seed=0
    )
    assert quadratics_of(huber, all_of(huber)) is None


def test_means_are_prepared_for_a_task_that_estimates_them(features):
    task = MeanEstimation(
        data=str(features), scaling="none", gamma=2.0, clusters=3, min_cluster=20, samples=4,
        clients=None, adversarial=0.3, seed=1,
    )  # fmt: skip
    data = all_of(task)
    models = np.random.default_rng(0).normal(size=(task.clients, task.dim))
    found = quadratics_of(task, data)
    losses = [task.loss(model, each) for model, each in zip(models, data, strict=True)]
    assert np.allclose(found.gradients(models), one_by_one(task, models, data), rtol=1e-12)
    assert np.allclose(found.losses(models), losses, rtol=1e-12)
    data[0] = Data(data[0].inputs[:0], data[0].targets[:0])
    assert quadratics_of(task, data) is None
