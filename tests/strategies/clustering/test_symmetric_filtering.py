from functools import partial

import numpy as np
import pytest
from scipy.stats import ortho_group

from tagma.errors import SettingError
from tagma.server.results.cluster_scores import misclustering
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.strategies.aggregation import Aggregate, iterative_filtering, mean, median
from tagma.strategies.clustering import symmetric_filtering, symmetric_iterative_filtering
from tests.strategies.clustering.test_clustering import starts
from tests.strategies.numerics.test_spectral_filter import plain_filter

FILTER = partial(iterative_filtering, factor=1.3, removable=0.3)


def two_clusters(m=400, dim=5, byzantine=40, seed=0):
    """Points of +-theta with |theta| = 4 and Byzantine ones on one side, the signs, and theta."""
    source = np.random.default_rng(seed)
    theta = np.full(dim, 4 / np.sqrt(dim))
    signs = source.choice([-1, 1], size=m)
    points = theta + source.normal(size=(m, dim))
    points[source.choice(m, size=byzantine, replace=False)] = theta + 30 * np.eye(dim)[0]
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


def test_the_filter_by_hand():
    """The first part flips to 0, 1, 2 and 50, of which 50 goes; the second keeps 1, 1 and 4."""
    points = np.array([[0.0], [1.0], [-2.0], [50.0], [1.0], [-1.0], [4.0]])
    result = symmetric_iterative_filtering(
        points, np.array([0.5]), iterations=2,
        estimate=partial(iterative_filtering, factor=1.3, removable=0.3, sigma=1.5),
    )  # fmt: skip
    assert result.history.tolist() == [[0.5], [1.0], [2.0]]
    assert result.trimmed.tolist() == [False, False, False, True, False, False, False]
    assert result.labels.tolist() == [1, 1, -1, 1, 1, -1, 1]
    assert result.stopped == "all 2 parts used; the last estimate: within the bound"


def test_the_filter_agrees_with_a_loop_around_a_full_eigendecomposition():
    points, _, theta = two_clusters()
    found, dropped = theta + 1, []
    for t in range(4):
        part = points[100 * t : 100 * (t + 1)]
        signed = part * np.where(part @ found < 0, -1, 1)[:, None]
        kept = plain_filter(signed, 1.0, factor=1.3, removable=0.3)
        dropped += [100 * t + row for row in range(100) if row not in kept]
        found = signed[kept].mean(axis=0)
    result = symmetric_iterative_filtering(
        points, theta + 1, iterations=4,
        estimate=partial(iterative_filtering, factor=1.3, removable=0.3, sigma=1.0),
    )  # fmt: skip
    assert np.allclose(result.theta, found)
    assert np.flatnonzero(result.trimmed).tolist() == dropped


def test_the_order_within_a_part_does_not_matter():
    points, _, theta = two_clusters()
    source = np.random.default_rng(1)
    order = np.concatenate([100 * t + source.permutation(100) for t in range(4)])
    first, second = (
        symmetric_iterative_filtering(rows, theta, iterations=4, estimate=FILTER)
        for rows in (points, points[order])
    )
    assert np.allclose(first.history, second.history)
    assert np.array_equal(first.labels[order], second.labels)
    assert np.array_equal(first.trimmed[order], second.trimmed)


OPTIONS = {"k": 2, "iterations": 4, "fraction": 0.2, "factor": 1.3, "removable": 0.3}


def test_as_a_clustering_it_finds_both_clusters_from_random_labels():
    points, signs, theta = two_clusters()
    result = symmetric_filtering(points, starts(400, 2), **OPTIONS)
    honest = np.linalg.norm(points, axis=1) < 15
    assert misclustering(result.labels[honest], (signs[honest] + 1) // 2) < 0.02
    assert np.array_equal(result.centres[0], -result.centres[1])
    assert min(np.linalg.norm(centre - theta) for centre in result.centres) < 0.5
    assert result.trimmed[~honest].all()
    assert result.trimmed[honest].mean() < 0.05
    assert result.history.shape == (5, 400)
    assert np.array_equal(result.history[-1], result.labels)
    assert result.stopped.startswith("all 4 parts used")


def test_fewer_points_than_iterations_are_as_many_iterations():
    result = symmetric_filtering(np.array([[1.0], [-1.2]]), starts(2, 2), **OPTIONS)
    assert result.iterations == 2
    assert np.isfinite(result.centres).all()


def test_the_settings_of_the_general_form_choose_it():
    target = (
        "clustering._target_=tagma.strategies.clustering.symmetric_filtering.symmetric_filtering"
    )
    chosen = ["clustering=iterative_filtering", target]
    algorithm_of(compose([*chosen, "task.clusters=2"]))
    with pytest.raises(SettingError, match=r"clustering\.k=5: should be less than or equal to 2"):
        algorithm_of(compose(chosen))
