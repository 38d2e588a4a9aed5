import numpy as np
import pytest
from scipy.stats import trim_mean

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import kmeans, ktrimmed_means
from tests.strategies.clustering.plain_lloyd import plain_lloyd
from tests.strategies.clustering.test_clustering import starts, three_groups

COMMON = {"iterations": 50, "fraction": 0.2}


def test_the_centre_by_hand():
    points = np.array([[0.0, 5.0], [1.0, 0.0], [3.0, 7.0], [5.0, 6.0], [100.0, 6.0]])
    one = np.zeros((1, 5), dtype=int)
    assert np.allclose(ktrimmed_means(points, one, k=1, beta=0.2, **COMMON).centres, [[3, 17 / 3]])
    assert ktrimmed_means(points, one, k=1, beta=0.4, **COMMON).centres.tolist() == [[3.0, 6.0]]


def test_labels_by_hand():
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [40.0]])
    result = ktrimmed_means(points, np.array([[0, 0, 0, 0, 1, 1, 1]]), k=2, beta=0.34, **COMMON)
    assert result.centres.tolist() == [[1.0], [11.5]]
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("beta", [0.1, 0.25, 0.45])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_a_plain_loop_around_scipy(seed, beta):
    source = np.random.default_rng(seed)
    points = source.normal(size=(60, 3))
    initial = source.integers(0, 3, size=60)
    labels, centres = plain_lloyd(points, initial, 3, lambda rows: trim_mean(rows, beta, axis=0))
    result = ktrimmed_means(points, initial[None], k=3, beta=beta, **COMMON)
    assert np.array_equal(result.labels, labels)
    assert np.allclose(result.centres, centres)


def test_without_trimming_it_is_kmeans():
    """Coordinates and weights are two forms of the same centres."""
    points, _ = three_groups(seed=2)
    points[:3] *= 20
    initial = starts(len(points), 3, restarts=5)
    ours = ktrimmed_means(points, initial, k=3, beta=0.0, **COMMON)
    theirs = kmeans(points, initial, k=3, **COMMON)
    assert np.array_equal(ours.history, theirs.history)
    assert np.allclose(ours.centres, theirs.centres)
    assert ours.stopped == theirs.stopped


def test_separated_groups_are_found_in_spite_of_far_away_byzantine_clients():
    points, groups = three_groups()
    for size in (1e4, 1e30, 1e150):
        byzantine = np.random.default_rng(5).uniform(-size, size, size=(5, 6))
        everyone = np.vstack([points, byzantine])
        result = ktrimmed_means(everyone, starts(len(everyone), 3), k=3, beta=0.4, **COMMON)
        assert misclustering(result.labels[: len(points)], groups) == 0


def test_order_translation_scale_and_coordinates_do_not_change_the_clusters():
    points, _ = three_groups(seed=3)
    source = np.random.default_rng(8)
    initial = source.integers(0, 3, size=(4, len(points)))
    options = {"k": 3, "beta": 0.3} | COMMON
    labels = ktrimmed_means(points, initial, **options).labels
    order, coordinates = source.permutation(len(points)), source.permutation(6)
    reordered = ktrimmed_means(points[order], initial[:, order], **options)
    assert np.array_equal(reordered.labels, labels[order])
    moved = -0.01 * points[:, coordinates] + 1000
    assert np.array_equal(ktrimmed_means(moved, initial, **options).labels, labels)
