import itertools

import numpy as np
import pytest
from scipy.stats import ortho_group

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import edge_cutting
from tests.strategies.clustering.test_clustering import three_groups


def cut(points, k=3, fraction=0.35, **options):
    unused = np.zeros((1, len(points)), dtype=np.int64)
    return edge_cutting(points, unused, k=k, fraction=fraction, **options)


def searched_components(points, threshold):
    """Connected components by breadth-first search, as sets of rows."""
    left, found = set(range(len(points))), []
    while left:
        queue = [left.pop()]
        group = set(queue)
        while queue:
            row = queue.pop(0)
            near = {i for i in left if np.linalg.norm(points[i] - points[row]) < threshold}
            left -= near
            group |= near
            queue += near
        found.append(group)
    return found


POINTS = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [100.0], [14.0]])


def test_a_given_threshold_by_hand():
    result = cut(POINTS, k=2, threshold=1.5)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert result.centres.tolist() == [[1.0], [10.5]]
    assert result.trimmed.tolist() == [False] * 5 + [True, True]
    assert result.stopped == "cut at 1.5: 4 components, 2 left over"
    assert result.history.tolist() == [[0] * 7, [0, 0, 0, 1, 1, 1, 1]]
    assert result.iterations == 1


def test_clients_at_the_threshold_are_not_joined():
    assert cut(POINTS, k=2, threshold=1.0).stopped.startswith("cut at 1: 7 components")
    assert cut(POINTS, k=2, threshold=1.001).stopped.startswith("cut at 1.001: 4 components")


def test_leftovers_that_are_members_change_labels_and_centres_in_nothing():
    out, nearest = (cut(POINTS, k=2, threshold=1.5, leftovers=how) for how in ("out", "nearest"))
    assert out.trimmed.sum() == 2
    assert not nearest.trimmed.any()
    assert np.array_equal(out.labels, nearest.labels)
    assert np.array_equal(out.centres, nearest.centres)


def test_the_widest_gap_by_hand():
    """Sorted edges 1, 1, 1, 3, 8, 86. Cuts before 3 or 8 leave two of three and two clients or
    more; the largest ratio of all, before 86, would leave one cluster of six and one of one."""
    result = cut(POINTS, k=2)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert result.stopped == "cut at 1.732: 4 components, 2 left over"


def test_a_wider_gap_that_leaves_too_many_out_is_not_taken():
    """Edges 0.1 within four places, then 7.8 and 83.8: the first gap would leave half of them."""
    places = np.array([0.0, 8.0, 16.0, 100.0])
    points = (places[:, None] + [0.0, 0.1, 0.2]).reshape(-1, 1)
    result = cut(points, k=2)
    assert result.labels.tolist() == [0] * 9 + [1] * 3
    assert not result.trimmed.any()
    assert cut(points, k=4).labels.tolist() == np.repeat([0, 1, 2, 3], 3).tolist()


@pytest.mark.parametrize("threshold", [0.5, 1.0, 1.5, 2.5])
def test_components_agree_with_a_search(threshold):
    points = np.random.default_rng(3).normal(size=(40, 3))
    found = sorted(searched_components(points, threshold), key=len, reverse=True)
    sizes = [len(group) for group in found]
    result = cut(points, k=3, threshold=threshold)
    for number in range(min(3, len(found))):
        core = set(np.flatnonzero((result.labels == number) & ~result.trimmed).tolist())
        assert core in found
        assert len(core) == sizes[number]
        assert np.allclose(result.centres[number], points[sorted(core)].mean(axis=0))
    assert result.trimmed.sum() == sum(sizes[3:])


@pytest.mark.parametrize("dim", [3, 6, 50])
def test_groups_are_found_without_a_threshold(dim):
    for seed in range(5):
        points, groups = three_groups(dim=dim, seed=seed)
        result = cut(points)
        assert misclustering(result.labels, groups) == 0
        assert result.trimmed.sum() <= 2


@pytest.mark.parametrize("size", [100.0, 1e8, 1e30, 1e150])
def test_far_away_byzantine_clients_do_not_choose_the_threshold(size):
    points, groups = three_groups()
    scattered = np.random.default_rng(5).uniform(-size, size, size=(15, 6))
    in_pairs = np.repeat(scattered[:7], 2, axis=0)
    in_one_place = np.full((15, 6), size)
    for byzantine in (scattered, in_pairs):
        result = cut(np.vstack([points, byzantine]))
        assert misclustering(result.labels[: len(points)], groups) == 0
        assert result.trimmed[len(points) :].all()
        assert np.isfinite(result.centres).all()
    with_a_fake_cluster = cut(np.vstack([points, in_one_place]), k=4)
    assert misclustering(with_a_fake_cluster.labels[: len(points)], groups) == 0


def test_equal_vectors_are_one_component():
    points = np.repeat(np.array([[0.0, 0.0], [1e-12, 0.0], [5.0, 5.0]]), 4, axis=0)
    result = cut(points)
    assert misclustering(result.labels, np.repeat([0, 1, 2], 4)) == 0


def test_fewer_components_than_clusters_leave_the_others_empty():
    result = cut(POINTS, k=4, threshold=9.0)
    assert result.stopped == "cut at 9: only 2 components, 0 left over"
    assert result.labels.tolist() == [0, 0, 0, 0, 0, 1, 0]
    assert result.centres[2:].tolist() == [[10.0], [10.0]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_clients_than_clusters_still_have_models(count):
    result = cut(POINTS[:count], k=5)
    assert result.centres.shape == (5, 1)
    assert np.isfinite(result.centres).all()


def test_order_translation_scale_and_rotation_do_not_change_the_clusters():
    points, _ = three_groups(seed=3)
    points = np.vstack([points, 60 * np.random.default_rng(2).normal(size=(10, 6))])
    result = cut(points)
    assert 0 < result.trimmed.sum() < 15
    source = np.random.default_rng(8)
    order = source.permutation(len(points))
    rotation = ortho_group.rvs(6, random_state=1)
    for moved in (points[order], -0.01 * points[order] @ rotation + 1000):
        again = cut(moved)
        assert misclustering(again.labels, result.labels[order]) == 0
        assert np.array_equal(again.trimmed, result.trimmed[order])


def plain_cut(points, k, fraction):
    """Every threshold between two distances, by the definition: the widest allowed gap."""
    m = len(points)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    connected, lengths = {0}, []
    while len(connected) < m:  # the tree's edges, as Prim found them
        outside = [i for i in range(m) if i not in connected]
        reach = {i: min(distances[i, j] for j in connected) for i in outside}
        nearest = min(outside, key=reach.get)
        lengths.append(reach[nearest])
        connected.add(nearest)
    lengths = sorted(lengths)
    edges = [lengths[0] / 2, *lengths, 2 * lengths[-1]]
    cuts = []
    for low, high in itertools.pairwise(edges):
        if low == high:
            continue
        groups = searched_components(points, np.sqrt(low * high))
        sizes = sorted((len(group) for group in groups), reverse=True) + [0] * k
        cuts.append((high / low, sum(sizes[:k]), sizes[k - 1], np.sqrt(low * high)))
    largest = max(smallest for _, _, smallest, _ in cuts)
    even = [cut for cut in cuts if cut[2] >= (1 - fraction) * largest]
    enough = [cut for cut in even if cut[1] >= (1 - fraction) * m]
    return max(enough or even)[3]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_automatic_threshold_agrees_with_trying_every_cut(seed, k):
    source = np.random.default_rng(seed)
    points = source.normal(size=(24, 2)) + 4 * source.integers(0, 3, size=(24, 1))
    threshold = plain_cut(points, k, 0.35)
    automatic, given = cut(points, k=k), cut(points, k=k, threshold=threshold)
    assert automatic.stopped == given.stopped
    assert np.array_equal(automatic.labels, given.labels)
    assert np.array_equal(automatic.trimmed, given.trimmed)


@pytest.mark.parametrize("threshold", [2.0, 3.5])
def test_a_given_threshold_moves_with_order_translation_scale_and_rotation(threshold):
    points, _ = three_groups(seed=3)
    result = cut(points, threshold=threshold)
    source = np.random.default_rng(8)
    order = source.permutation(len(points))
    moved = -0.01 * points[order] @ ortho_group.rvs(6, random_state=1) + 1000
    again = cut(moved, threshold=0.01 * threshold)
    assert misclustering(again.labels, result.labels[order]) == 0
    assert again.trimmed.sum() == result.trimmed.sum()
