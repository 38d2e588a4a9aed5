import numpy as np
import pytest
from scipy.stats import ortho_group

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import density, random_labels, trimmed_kmeans


def groups_of(*sizes, dim=60, distance=12.0, seed=0):
    """Groups of normal points around far random centres, and their numbers."""
    source = np.random.default_rng(seed)
    centres = source.normal(size=(len(sizes), dim))
    centres *= distance / np.linalg.norm(centres, axis=1, keepdims=True)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return centres[groups] + source.normal(size=(len(groups), dim)), groups


def with_byzantine(points, byzantine):
    return np.vstack([points, byzantine])


@pytest.mark.parametrize("sizes", [(60,), (30, 30), (24, 15, 9, 6, 6), (12,) * 8])
def test_the_number_of_clusters_is_found(sizes):
    points, groups = groups_of(*sizes)
    found = density(points)
    assert found.k == len(sizes)
    assert misclustering(found.labels, groups) == 0
    assert found.trimmed.mean() <= 0.05
    assert found.suspect == (None,) * len(sizes)


def test_scattered_byzantine_clients_are_outside_every_ball():
    points, groups = groups_of(20, 20, 20)
    byzantine = 5 * np.random.default_rng(1).normal(size=(40, 60))
    found = density(with_byzantine(points, byzantine))
    assert found.k == 3
    assert found.trimmed[60:].all()
    assert misclustering(found.labels[:60], groups) == 0


def test_the_largest_come_first_and_k_takes_only_those():
    points, groups = groups_of(10, 30, 20)
    assert np.bincount(density(points).labels).tolist() == sorted(np.bincount(groups))[::-1]
    found = density(points, k=2)
    assert found.k == 2
    assert found.trimmed[groups == 0].all()
    assert not found.trimmed[groups == 1].all()


def test_a_group_below_the_smallest_size_is_no_cluster():
    points, _ = groups_of(30, 30, 5)
    assert density(points, smallest=6).k == 2
    assert density(points, smallest=4).k == 3


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_copies_beside_a_cluster_do_not_count_for_its_centre(offset):
    points, _ = groups_of(20, 20, 20)
    copied = points[:20].mean(axis=0) + offset * np.random.default_rng(2).normal(size=60)
    found = density(with_byzantine(points, np.tile(copied, (30, 1))))
    assert found.k == 3
    assert found.trimmed[60:].sum() >= 29  # one of them may stay
    assert not found.trimmed[:60].any()
    own = found.centres[found.labels[0]]
    assert np.linalg.norm(own - points[:20].mean(axis=0)) < 2.5  # of noise 7.7 long, one in twenty


def test_of_copies_far_from_everyone_one_is_left_and_makes_no_cluster():
    points, _ = groups_of(20, 20, 20)
    found = density(with_byzantine(points, np.full((30, 60), 7.0)))
    assert found.k == 3
    assert found.trimmed[60:].all()


def test_a_false_cluster_of_usual_scatter_is_one_more_and_harms_nobody():
    points, groups = groups_of(14, 14, 14, 18, seed=4)
    found = density(points)
    honest = groups < 3
    assert found.k == 4
    assert misclustering(found.labels[honest], groups[honest]) == 0


def test_a_chain_of_byzantine_clients_does_not_join_two_clusters():
    points, groups = groups_of(20, 20, 20)
    way = np.linspace(0, 1, 20)[:, None]
    chain = (1 - way) * points[:20].mean(axis=0) + way * points[20:40].mean(axis=0)
    found = density(with_byzantine(points, chain))
    assert misclustering(found.labels[:60], groups) == 0


def test_rows_of_astronomic_size_are_only_outliers():
    points, groups = groups_of(20, 20)
    for size in (1e10, 1e140):
        byzantine = size * np.random.default_rng(3).normal(size=(15, 60))
        with np.errstate(over="raise", invalid="raise"):
            found = density(with_byzantine(points, byzantine))
        assert found.k == 2
        assert np.isfinite(found.centres).all()
        assert misclustering(found.labels[:40], groups) == 0


def test_order_translation_scale_and_rotation_do_not_change_the_clusters():
    points, _ = groups_of(24, 16, 12, seed=5)
    points = with_byzantine(points, 4 * np.random.default_rng(6).normal(size=(20, 60)))
    source = np.random.default_rng(7)
    found = density(points)
    order = source.permutation(len(points))
    again = density(points[order])
    assert np.array_equal(again.labels, found.labels[order])
    assert np.array_equal(again.trimmed, found.trimmed[order])
    moved = density(0.01 * points @ ortho_group.rvs(60, random_state=1) + 1000)
    assert np.array_equal(moved.labels, found.labels)
    assert np.array_equal(moved.trimmed, found.trimmed)


@pytest.mark.parametrize("points", [np.ones((1, 3)), np.eye(3), np.zeros((3, 2))])
def test_where_there_is_no_group_everyone_is_in_one_suspect_cluster(points):
    found = density(points)
    assert found.labels.tolist() == [0] * len(points)
    assert np.array_equal(found.centres[0], np.median(points, axis=0))
    assert not found.trimmed.any()
    assert "no group" in found.suspect[0]


def test_clusters_without_noise_are_found():
    points = np.repeat([[0.1, 0.7, 0.3], [5.3, 5.1, 5.9]], 8, axis=0)
    found = density(points)
    assert found.k == 2
    assert not found.trimmed.any()


def test_few_dimensions_are_no_special_case():
    source = np.random.default_rng(8)
    for dim in (2, 3, 5):
        points = np.concatenate([source.normal(size=(40, dim)), 20 + source.normal(size=(40, dim))])
        found = density(points)
        assert found.k == 2
        assert found.trimmed.mean() <= 0.03


def test_trimmed_kmeans_finds_its_radius_by_itself():
    points, groups = groups_of(20, 20, 20)
    everyone = with_byzantine(points, 6 * np.random.default_rng(10).normal(size=(15, 60)))
    initial = random_labels(np.arange(75), k=3, restarts=20, seed=0)
    found = trimmed_kmeans(everyone, initial, k=3, iterations=20, fraction=0.35, radius="auto")
    assert misclustering(found.labels[:60], groups) == 0
    assert found.trimmed[60:].all()
    assert found.trimmed[:60].mean() <= 0.05
