import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagma.client.solvers.average import average
from tagma.client.solvers.lbfgs import lbfgs
from tagma.client.solvers.solver_choice import solver_of
from tagma.errors import SettingError
from tagma.settings import compose
from tagma.tasks.task import Data
from tests.tasks.test_mean_estimation import make


def test_the_average_by_hand():
    solution = average(None, Data(np.array([[1.0, 0.0], [3.0, 5.0], [2.0, 1.0]]), np.zeros(3)))
    assert solution.model.tolist() == [2.0, 2.0]
    assert solution.stopped == "solved"


def test_the_average_is_what_a_general_solver_finds(features):
    task = make(features)
    data = task.train(0)
    general = lbfgs(task, data, tolerance=1e-10, iterations=100, ridge=0.0)
    assert np.allclose(average(task, data).model, general.model)


def test_the_average_refuses_a_regression():
    with pytest.raises(SettingError, match="solver=average: is for mean estimation only"):
        solver_of(compose(["solver=average"]))


def test_least_squares_refuse_mean_estimation():
    with pytest.raises(SettingError, match="solver=closed_form: is for least squares only"):
        solver_of(compose(["task=mean_estimation", "solver=closed_form"]))


clouds = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-1e3, 1e3))


@given(clouds, st.integers(0, 100), st.floats(-5, 5))
def test_the_average_moves_with_order_translation_scale_and_rotation(points, seed, scale):
    source = np.random.default_rng(seed)
    found = average(None, Data(points, np.zeros(len(points)))).model
    assert np.allclose(found, [statistics.fmean(column) for column in points.T])
    rotation = np.linalg.qr(source.normal(size=(3, 3)))[0]
    moved = scale * points[source.permutation(len(points))] @ rotation + [1.0, -2.0, 3.0]
    again = average(None, Data(moved, np.zeros(len(points)))).model
    assert np.allclose(again, scale * found @ rotation + [1.0, -2.0, 3.0], atol=1e-9)
