import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.stats import ortho_group

from tagma.strategies.clustering.weighted_centres import Points
from tagma.strategies.numerics.weiszfeld import geometric_medians

clouds = arrays(
    np.float64,
    st.tuples(st.integers(3, 8), st.integers(1, 3)),
    elements=st.floats(-100, 100).map(lambda x: round(x, 3)),
)


def geometric_median(cloud):
    """As stage II finds it, for one cluster of all points."""
    points = Points(cloud)
    medians = geometric_medians(points, np.ones((1, len(cloud)), dtype=bool))
    return points.combine(medians.weights)[0]


def total_distance(points, y):
    return np.linalg.norm(points - y, axis=1).sum()


def test_one_two_and_collinear_points():
    assert np.allclose(geometric_median(np.array([[3.0, 4.0]])), [3, 4])
    assert np.allclose(geometric_median(np.array([[0.0, 0.0], [2.0, 2.0]])), [1, 1])
    assert geometric_median(np.array([[0.0], [1.0], [50.0]]))[0] == pytest.approx(1, abs=1e-3)


def test_the_fermat_point_of_an_equilateral_triangle_is_its_centre():
    angles = np.array([0, 2, 4]) * np.pi / 3
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1) + 7
    assert np.allclose(geometric_median(corners), [7, 7], atol=1e-6)


def test_a_corner_with_an_angle_of_120_degrees_or_more_is_the_median():
    triangle = np.array([[0.0, 0.0], [1.0, 0.1], [-1.0, 0.1]])
    assert np.allclose(geometric_median(triangle), [0, 0], atol=1e-3)


def test_a_start_exactly_on_a_point_that_is_not_the_median_is_left():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.9, 0.9]])
    points = Points(square)
    start = np.array([[1.0, 0, 0, 0, 0]])
    medians = geometric_medians(points, np.ones((1, 5), dtype=bool), start)
    found = points.combine(medians.weights)[0]
    best = minimize(lambda y: total_distance(square, y), [0.1, 0.2], method="Nelder-Mead").fun
    assert total_distance(square, found) <= best + 1e-6


def test_a_start_on_the_median_stays_there():
    star = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    start = np.array([[1.0, 0, 0, 0, 0]])
    medians = geometric_medians(Points(star), np.ones((1, 5), dtype=bool), start)
    assert np.array_equal(medians.weights, start)
    assert medians.stopped == "converged"


def test_most_points_in_one_place_are_the_median():
    points = np.array([[5.0, 5.0]] * 4 + [[100.0, -3.0], [7.0, 8.0], [-50.0, 1.0]])
    assert np.allclose(geometric_median(points), [5, 5], atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(clouds)
@example(np.array([[0.0, 1.0], [0.0, 4.0], [0.0, 0.0], [3.0, 9.0]]))  # pulled as hard as it holds
@example(np.array([[0.0, 0.0], [1.0, 4.0], [0.0, 1.0], [1.0, 7.0]]))  # steps shrink very slowly
def test_no_other_point_has_a_smaller_sum_of_distances(points):
    found = geometric_median(points)
    best = min(
        minimize(lambda y: total_distance(points, y), start, method="Nelder-Mead",
                 options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}).fun
        for start in (points.mean(axis=0), np.median(points, axis=0))
    )  # fmt: skip
    scale = max(total_distance(points, points.mean(axis=0)), 1e-9)
    assert total_distance(points, found) <= best + 1e-4 * scale


def test_moves_with_rotation_translation_and_scale():
    source = np.random.default_rng(1)
    points = source.normal(size=(12, 4))
    rotation = ortho_group.rvs(4, random_state=2)
    found = geometric_median(points)
    moved = geometric_median(3 * points @ rotation + 5)
    assert np.allclose(moved, 3 * found @ rotation + 5, atol=1e-4)


def test_fewer_than_half_of_the_points_cannot_move_it_far():
    source = np.random.default_rng(3)
    honest = source.normal(size=(11, 3))
    near = geometric_median(np.vstack([honest, np.full((4, 3), 1e6)]))
    far = geometric_median(np.vstack([honest, np.full((4, 3), 1e30)]))
    assert np.linalg.norm(far) < 3
    assert np.allclose(near, far, atol=1e-4)


def test_many_subsets_at_once_are_the_same_as_one_by_one():
    source = np.random.default_rng(4)
    cloud = source.normal(size=(30, 50))
    members = source.random((7, 30)) < 0.4
    points = Points(cloud)
    together = points.combine(geometric_medians(points, members).weights)
    for subset, median in zip(members, together, strict=True):
        assert np.allclose(geometric_median(cloud[subset]), median, atol=1e-5)


def test_with_and_without_the_gram_matrix_the_result_is_the_same():
    source = np.random.default_rng(5)
    flat = source.normal(size=(40, 3))
    padded = np.hstack([flat, np.zeros((40, 60))])
    assert np.allclose(geometric_median(flat), geometric_median(padded)[:3], atol=1e-6)
