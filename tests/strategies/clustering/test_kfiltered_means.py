"""The spectral filter as an aggregator and as the centre of a clustering."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import ortho_group

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.aggregation import iterative_filtering as aggregate
from tagma.strategies.aggregation import mean, spectral_filter
from tagma.strategies.clustering import estimate_scale
from tagma.strategies.clustering import kfiltered_means as cluster
from tests.strategies.clustering.plain_lloyd import plain_lloyd
from tests.strategies.clustering.test_clustering import starts, three_groups

FILTER = {"factor": 1.3, "removable": 0.45}
CLUSTER = {"k": 3, "iterations": 50, "fraction": 0.2, "factor": 1.3, "removable": 0.7}


def normal_rows(honest=20, byzantine=8, dim=30, distance=20.0, seed=0):
    source = np.random.default_rng(seed)
    rows = 0.1 * source.normal(size=(honest + byzantine, dim)) + 5
    rows[honest:] += distance * source.normal(size=(byzantine, dim))
    return rows


def test_an_aggregate_by_hand():
    rows = np.array([[-1.0], [0.0], [1.0], [10.0]])
    result = aggregate(rows, sigma=1.0, **FILTER)
    assert result.estimate == pytest.approx([0.0])
    assert result.kept.tolist() == [True, True, True, False]
    assert (result.iterations, result.stopped) == (1, "within the bound")
    few = aggregate(np.append(rows, rows[3:] + 20, axis=0), sigma=1.0, factor=1.3, removable=0.2)
    assert few.stopped == "removal limit"


@pytest.mark.parametrize("dim", [1, 5, 100])
def test_the_noise_is_estimated_and_byzantine_clients_are_dropped(dim):
    rows = normal_rows(dim=dim)
    result = aggregate(rows, **FILTER)
    assert not result.kept[20:].any()
    assert result.kept[:20].sum() >= 19
    sigma = estimate_scale(rows, k=1, fraction=0.45)
    assert np.array_equal(result.kept, aggregate(rows, sigma=sigma, **FILTER).kept)


def test_without_byzantine_clients_it_is_the_mean():
    for seed in range(10):
        rows = normal_rows(byzantine=0, seed=seed)
        assert np.array_equal(aggregate(rows, **FILTER).estimate, mean(rows).estimate)


def test_an_aggregate_moves_with_rotation_translation_scale_and_order():
    rows = normal_rows(distance=1.0)
    rotation = ortho_group.rvs(30, random_state=1)
    order = np.random.default_rng(1).permutation(len(rows))
    result = aggregate(rows, **FILTER)
    assert not result.kept.all()
    moved = aggregate(-7 * rows[order] @ rotation + 3, **FILTER)
    assert np.array_equal(moved.kept, result.kept[order])
    assert np.allclose(moved.estimate, -7 * result.estimate @ rotation + 3)


def test_one_two_and_equal_rows_have_a_mean():
    for rows in (np.ones((1, 3)), np.array([[0.0, 1.0], [2.0, 5.0]]), np.full((6, 2), 4.0)):
        assert np.allclose(aggregate(rows, **FILTER).estimate, rows.mean(axis=0))


def test_inputs_are_left_as_they_were():
    rows = normal_rows()
    before = rows.copy()
    aggregate(rows, **FILTER)
    cluster(rows, starts(len(rows), 3), **CLUSTER)
    assert np.array_equal(rows, before)


def test_clusters_by_hand():
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [40.0]])
    initial = np.array([[0, 0, 0, 0, 1, 1, 1]])
    result = cluster(points, initial, **CLUSTER | {"k": 2, "sigma": 1.0})
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert result.trimmed.tolist() == [False] * 6 + [True]
    assert np.allclose(result.centres, [[1.0], [11.0]])
    assert result.history.tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    assert result.stopped == "fixed point; filter: within the bound in 2 clusters, after 1 removals"


@pytest.mark.parametrize("dim", [3, 60])
def test_clusters_agree_with_a_plain_loop_around_the_filter(dim):
    for seed in range(2):
        source = np.random.default_rng(seed)
        points = source.normal(size=(40, dim))
        points[:5] += 4 * source.normal(size=(5, dim))
        initial = source.integers(0, 3, size=40)
        centre = partial(spectral_filter, sigma=0.8, factor=1.3, removable=0.7)
        labels, centres = plain_lloyd(points, initial, 3, lambda rows, c=centre: c(rows).estimate)
        result = cluster(points, initial[None], **CLUSTER | {"sigma": 0.8})
        assert np.array_equal(result.labels, labels)
        assert np.allclose(result.centres, centres)


def test_separated_groups_are_found_in_spite_of_far_away_byzantine_clients():
    points, groups = three_groups()
    for size in (1e4, 1e30, 1e150):
        byzantine = np.random.default_rng(5).uniform(-size, size, size=(5, 6))
        everyone = np.vstack([points, byzantine])
        result = cluster(everyone, starts(len(everyone), 3), **CLUSTER)
        assert misclustering(result.labels[: len(points)], groups) == 0
        assert result.trimmed[len(points) :].all()
        assert result.trimmed[: len(points)].sum() <= 1


def test_order_translation_scale_and_rotation_do_not_change_the_clusters():
    points, _ = three_groups(seed=3)
    source = np.random.default_rng(8)
    initial = source.integers(0, 3, size=(4, len(points)))
    labels = cluster(points, initial, **CLUSTER).labels
    order = source.permutation(len(points))
    reordered = cluster(points[order], initial[:, order], **CLUSTER)
    assert np.array_equal(reordered.labels, labels[order])
    moved = 0.01 * points @ ortho_group.rvs(6, random_state=1) + 1000
    assert np.array_equal(cluster(moved, initial, **CLUSTER).labels, labels)


def test_an_empty_cluster_keeps_its_centre_and_the_run_goes_on():
    points, groups = three_groups()
    result = cluster(points, np.minimum(groups, 1)[None], **CLUSTER)
    assert np.isfinite(result.centres).all()
