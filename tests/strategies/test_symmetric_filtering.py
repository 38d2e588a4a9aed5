from functools import partial

import numpy as np
import pytest
from scipy.stats import ortho_group

from strategies.aggregation import Aggregate, iterative_filtering, mean, median
from strategies.clustering import symmetric_iterative_filtering

FILTER = partial(iterative_filtering, factor=1.3, removable=0.3)


def two_clusters(m=400, dim=5, liars=40, seed=0):
    """Points of +-theta with |theta| = 4 and liars on one side, the signs, and theta."""
    source = np.random.default_rng(seed)
    theta = np.full(dim, 4 / np.sqrt(dim))
    signs = source.choice([-1, 1], size=m)
    points = theta + source.normal(size=(m, dim))
    points[source.choice(m, size=liars, replace=False)] = theta + 30 * np.eye(dim)[0]
    return points * signs[:, None], signs, theta


def test_two_iterations_by_hand():
    """The first part flips to 3, 5 and 4, the second to 2 and 6; a start on either side."""
    points = np.array([[3.0], [-5.0], [4.0], [-2.0], [6.0]])
    for side in (1, -1):
        result = symmetric_iterative_filtering(
            points, np.array([side * 1.0]), iterations=2, estimate=mean
        )
        assert result.history.tolist() == [[side * 1.0], [side * 4.0], [side * 4.0]]
        assert result.theta.tolist() == [side * 4.0]
        assert result.labels.tolist() == [side, -side, side, -side, side]
        assert result.iterations == 2


def test_every_iteration_sees_fresh_points_with_their_labels():
    points = np.random.default_rng(0).normal(size=(10, 2))
    seen = []

    def record(rows):
        seen.append(rows)
        return Aggregate(np.array([1.0, 0.0]))

    symmetric_iterative_filtering(points, np.array([0.0, 1.0]), iterations=3, estimate=record)
    assert [len(rows) for rows in seen] == [4, 3, 3]
    assert np.array_equal(np.abs(np.vstack(seen)), np.abs(points))
    assert (seen[0][:, 1] >= 0).all()
    assert (np.vstack(seen[1:])[:, 0] >= 0).all()


@pytest.mark.parametrize("estimate", [mean, median, FILTER])
def test_agrees_with_a_plain_loop(estimate):
    points, _, theta = two_clusters()
    found = theta + np.array([1, -1, 1, -1, 1.0])
    for t in range(4):
        part = points[100 * t : 100 * (t + 1)]
        nearer = ((part - found) ** 2).sum(axis=1) <= ((part + found) ** 2).sum(axis=1)
        found = estimate(np.where(nearer[:, None], part, -part)).estimate
    start = theta + np.array([1, -1, 1, -1, 1.0])
    result = symmetric_iterative_filtering(points, start, iterations=4, estimate=estimate)
    assert np.allclose(result.theta, found)


def test_the_filter_is_not_moved_where_the_mean_is():
    points, signs, theta = two_clusters()
    run = partial(symmetric_iterative_filtering, points, 1.2 * theta, iterations=4)
    assert np.linalg.norm(run(estimate=mean).theta - theta) > 2
    robust = run(estimate=FILTER)
    assert np.linalg.norm(robust.theta - theta) < 0.5
    assert (robust.labels == signs).mean() > 0.98


def test_rotation_and_scale():
    points, _, theta = two_clusters()
    rotation = ortho_group.rvs(5, random_state=3)
    first = symmetric_iterative_filtering(points, theta, iterations=4, estimate=FILTER)
    second = symmetric_iterative_filtering(
        9 * points @ rotation, theta @ rotation, iterations=4, estimate=FILTER
    )
    assert np.allclose(second.theta, 9 * first.theta @ rotation)
    assert np.array_equal(second.labels, first.labels)


def test_a_point_of_astronomic_size_is_only_an_outlier():
    points, _, theta = two_clusters()
    without = symmetric_iterative_filtering(points, theta, iterations=4, estimate=FILTER)
    for size in (1e30, 1e150):
        points[399] = size
        result = symmetric_iterative_filtering(points, theta, iterations=4, estimate=FILTER)
        assert np.linalg.norm(result.theta - without.theta) < 0.1


@pytest.mark.parametrize("iterations", [0, 11])
def test_more_parts_than_points_are_an_error(iterations):
    with pytest.raises(ValueError, match=f"iterations={iterations}"):
        symmetric_iterative_filtering(
            np.ones((10, 2)), np.ones(2), iterations=iterations, estimate=mean
        )
