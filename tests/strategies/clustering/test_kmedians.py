import numpy as np
import pytest
from scipy.stats import ortho_group

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import kmedians
from tests.strategies.clustering.plain_lloyd import plain_lloyd
from tests.strategies.clustering.test_clustering import starts, three_groups

COMMON = {"iterations": 50, "fraction": 0.2}


def test_the_centre_by_hand():
    points = np.array([[0.0, 5.0], [1.0, 0.0], [2.0, 7.0], [50.0, 6.0], [100.0, 6.0]])
    result = kmedians(points, np.zeros((1, 5), dtype=int), k=1, **COMMON)
    assert result.centres.tolist() == [[2.0, 6.0]]
    assert result.stopped == "fixed point"
    assert not result.trimmed.any()


def test_labels_by_hand():
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [40.0]])
    result = kmedians(points, np.array([[0, 0, 0, 0, 1, 1, 1]]), k=2, **COMMON)
    assert result.centres.tolist() == [[1.0], [11.5]]
    assert result.history.tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    assert result.iterations == 1


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_plain_loop(seed):
    source = np.random.default_rng(seed)
    points = source.normal(size=(60, 3))
    initial = source.integers(0, 3, size=60)
    labels, centres = plain_lloyd(points, initial, 3, lambda rows: np.median(rows, axis=0))
    result = kmedians(points, initial[None], k=3, **COMMON)
    assert np.array_equal(result.labels, labels)
    assert np.array_equal(result.centres, centres)


def test_separated_groups_are_found_in_spite_of_far_away_byzantine_clients():
    points, groups = three_groups()
    for size in (1e4, 1e30, 1e150):
        byzantine = np.random.default_rng(5).uniform(-size, size, size=(5, 6))
        everyone = np.vstack([points, byzantine])
        result = kmedians(everyone, starts(len(everyone), 3), k=3, **COMMON)
        assert misclustering(result.labels[: len(points)], groups) == 0


def test_an_empty_cluster_keeps_its_centre_and_the_run_goes_on():
    points, groups = three_groups()
    initial = np.minimum(groups, 1)
    result = kmedians(points, initial[None], k=3, **COMMON)
    assert np.isfinite(result.centres).all()


def test_order_translation_scale_and_coordinates_do_not_change_the_clusters():
    points, _ = three_groups(seed=3)
    source = np.random.default_rng(8)
    initial = source.integers(0, 3, size=(4, len(points)))
    labels = kmedians(points, initial, k=3, **COMMON).labels
    order, coordinates = source.permutation(len(points)), source.permutation(6)
    reordered = kmedians(points[order], initial[:, order], k=3, **COMMON)
    assert np.array_equal(reordered.labels, labels[order])
    moved = -0.01 * points[:, coordinates] + 1000
    assert np.array_equal(kmedians(moved, initial, k=3, **COMMON).labels, labels)


def test_a_rotation_changes_the_centre():
    points = np.random.default_rng(1).exponential(size=(30, 3))
    rotation = ortho_group.rvs(3, random_state=1)
    one = np.zeros((1, 30), dtype=int)
    centre = kmedians(points, one, k=1, **COMMON).centres
    rotated = kmedians(points @ rotation, one, k=1, **COMMON).centres
    assert np.abs(rotated - centre @ rotation).max() > 0.01
