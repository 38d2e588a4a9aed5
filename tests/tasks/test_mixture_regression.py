import numpy as np
import pytest
from scipy.optimize import check_grad

from tagma.errors import SettingError
from tagma.tasks.mixture_regression import MixtureRegression


def make(**changes):
    settings = {"clients": 6, "clusters": 2, "dim": 3, "samples": 5000, "noise": 0.5, "seed": 1}
    return MixtureRegression(**(settings | changes))


def test_data_follow_the_regression_of_the_clients_cluster():
    task = make()
    truth = task.truth()
    for client in range(6):
        data = task.train(client)
        residuals = data.targets - data.inputs @ truth.centres[truth.labels[client]]
        assert abs(residuals.std() - 0.5) < 0.03
        assert abs(data.inputs.mean()) < 0.05


def test_a_clients_data_depend_on_the_seed_and_its_number_only():
    few, many = make(), make(clients=60)
    first, second = few.train(4), many.train(4)
    assert np.array_equal(first.inputs, second.inputs)
    assert not np.array_equal(first.inputs, make(seed=2).train(4).inputs)
    assert not np.array_equal(first.inputs, few.train(5).inputs)


def test_held_out_data_are_other_data_of_the_same_regression():
    task = make()
    assert not np.array_equal(task.train(0).inputs, task.test(0).inputs)
    model = task.truth().centres[task.truth().labels[0]]
    assert abs(task.loss(model, task.test(0)) - 0.5**2 / 2) < 0.01


def test_false_coefficients_keep_inputs_and_noise():
    task = make()
    honest, false = task.train(2), task.data_with(2, np.zeros(3))
    model = task.truth().centres[task.truth().labels[2]]
    assert np.array_equal(honest.inputs, false.inputs)
    assert np.allclose(honest.targets - honest.inputs @ model, false.targets)


def test_the_gradient_is_that_of_the_loss():
    task = make(samples=20)
    data, model = task.train(0), np.array([0.3, -1.0, 2.0])
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-5


def test_more_clusters_than_clients_are_refused():
    with pytest.raises(SettingError, match=r"task.clusters=7: must not exceed task.clients=6"):
        make(clusters=7)


@pytest.mark.parametrize(("samples", "warned"), [(3, True), (2, True), (30, False)])
def test_as_many_samples_as_dimensions_bring_a_warning(samples, warned):
    assert bool(make(samples=samples).warnings()) == warned


def test_clusters_have_the_relative_sizes_that_are_asked_for():
    labels = make(clients=40, sizes=[3, 1]).truth().labels
    assert np.bincount(labels).tolist() == [30, 10]


def test_sizes_of_another_number_of_clusters_are_refused():
    with pytest.raises(SettingError, match=r"task.sizes=.*must have task.clusters=2 entries"):
        make(sizes=[1, 2, 3])


def test_autoregressive_inputs_are_correlated_with_their_neighbours():
    inputs = make(covariance="ar1", correlation=0.6, samples=40000).train(0).inputs
    expected = [[1, 0.6, 0.36], [0.6, 1, 0.6], [0.36, 0.6, 1]]
    assert np.allclose(np.cov(inputs.T), expected, atol=0.03)


def test_the_targets_of_correlated_inputs_follow_the_same_regression():
    task = make(covariance="ar1", correlation=0.6)
    data, model = task.train(1), task.truth().centres[task.truth().labels[1]]
    assert abs((data.targets - data.inputs @ model).std() - 0.5) < 0.03


def test_coefficients_of_one_length():
    bits, unit = make(dim=1, clusters=6).truth().centres, make(dim=1, clusters=6, norm=3.0).truth()
    assert 0 in bits  # which has no direction
    np.testing.assert_allclose(np.linalg.norm(unit.centres, axis=1), 3.0)


def test_coefficients_are_0_or_the_scale():
    centres = make(scale=100.0).truth().centres
    assert set(np.unique(centres)) == {0.0, 100.0}


def test_inputs_of_cluster_k_lie_around_k_times_the_shift():
    task, plain = make(clusters=3, shift=2.0), make(clusters=3)
    for client in range(6):
        moved = task.train(client).inputs - plain.train(client).inputs
        assert np.allclose(moved, 2.0 * task.truth().labels[client])
