import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tagma.server.partial_labels import partial_labels
from tagma.server.results.cluster_scores import (
    adjusted_rand_index,
    centre_error,
    clusterwise_misclustering,
    estimation_error,
    misclustering,
)
from tagma.server.results.principal_plane import principal_plane
from tagma.tasks.task import Truth


def test_names_of_clusters_do_not_matter():
    assert misclustering(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])) == 0


def test_misclustering_by_hand():
    assert misclustering(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([1, 1, 0, 0], 1.0),  # names do not matter
        ([0, 0, 0, 1], 0.0),  # 1 pair in both; 3 * 2 / 6 = 1 by chance
        ([0, 0, 1, 2], 4 / 7),  # 1 in both; 1 * 2 / 6 by chance, at most (1 + 2) / 2
        ([0, 0, -1, -1], 4 / 7),  # without a model everybody is alone
        ([0, 1, 0, 1], -0.5),  # none in both; 2 * 2 / 6 by chance, at most 2
        ([3, 3, 3, 3], 0.0),
    ],
)
def test_adjusted_rand_index_by_hand(found, expected):
    index = adjusted_rand_index(np.array(found), np.array([0, 0, 1, 1]))
    assert index == pytest.approx(expected)


@pytest.mark.parametrize("labels", [[], [0], [2, 2, 2], [0, 1, 2]])
def test_groupings_that_leave_nothing_to_agree_on_are_equal(labels):
    assert adjusted_rand_index(np.array(labels, int), np.array(labels, int)) == 1


def test_the_index_is_that_of_scikit_learn():
    random = np.random.default_rng(3)
    found, true = random.integers(0, 5, 60), random.integers(0, 3, 60)
    expected = adjusted_rand_score(true, found)
    assert adjusted_rand_index(found, true) == pytest.approx(expected)


def test_a_lost_cluster_is_not_hidden():
    found, true = np.zeros(9, dtype=int), np.arange(9) % 3
    assert misclustering(found, true) == pytest.approx(2 / 3)


def test_more_clusters_than_true_ones_are_matched_one_to_one():
    assert misclustering(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])) == pytest.approx(0.25)


def test_estimation_error_is_the_worst_cluster_per_root_dimension():
    centres = np.array([[0.0] * 4, [10.0] * 4])
    models = np.array([[10.0, 10.0, 10.0, 12.0], [1.0, 0.0, 0.0, 0.0]])
    assert estimation_error(models, centres) == pytest.approx(1.0)


def test_two_models_at_one_centre_leave_the_other_centre_without():
    centres = np.array([[0.0], [10.0]])
    assert estimation_error(np.array([[0.0], [0.1]]), centres) == pytest.approx(9.9)


def test_a_true_cluster_without_model_counts_with_the_nearest():
    centres = np.array([[0.0], [10.0], [12.0]])
    assert estimation_error(np.array([[0.0], [10.0]]), centres) == pytest.approx(2.0)


def test_diverged_models_have_a_finite_huge_error():
    assert 1e100 < estimation_error(np.array([[np.inf], [0.0]]), np.zeros((2, 1))) < np.inf


def test_partial_labels_are_right_for_the_given_share_of_honest_clients():
    labels = np.arange(1000) % 4
    byzantine = np.arange(1000) < 300
    truth = Truth(centres=np.zeros((4, 1)), labels=labels)
    start = partial_labels(
        np.arange(1000), truth=truth, byzantine=byzantine, correct=0.6, seed=1
    )[0]  # fmt: skip
    honest_right = (start == labels)[~byzantine].mean()
    assert honest_right == pytest.approx(0.6 + 0.4 / 4, abs=0.03)
    assert (start == labels)[byzantine].mean() == pytest.approx(0.25, abs=0.08)


def test_the_plane_shows_the_clusters_not_the_byzantine_clients():
    source = np.random.default_rng(1)
    clusters = 10 * np.eye(30)[:3][np.arange(60) % 3] + source.normal(size=(60, 30))
    byzantine = source.normal(size=(15, 30)) * 1e3
    origin, plane = principal_plane(np.vstack([clusters, byzantine]))
    assert np.allclose(plane @ plane.T, np.eye(2))
    places = (clusters - origin) @ plane.T
    means = np.array([places[np.arange(60) % 3 == k].mean(axis=0) for k in range(3)])
    gaps = np.linalg.norm(means[:, None] - means, axis=2)[np.triu_indices(3, 1)]
    assert gaps.min() > 5


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (2, 2), (3, 4)])
def test_the_plane_exists_for_tiny_inputs(shape):
    origin, plane = principal_plane(np.ones(shape))
    assert np.isfinite(plane).all()
    assert plane.shape == (2, shape[1])
    assert origin.shape == (shape[1],)


def test_clusterwise_misclustering_by_hand():
    true = np.array([0, 0, 0, 0, 1, 1])
    found = np.array([0, 0, 0, 1, 1, 1])
    # One of four is missing from cluster 0, one of three in cluster 1 does not belong there.
    assert clusterwise_misclustering(found, true) == pytest.approx(1 / 3)
    assert clusterwise_misclustering(true, true) == 0


def test_a_trimmed_client_is_missing_from_its_cluster_and_no_intruder_elsewhere():
    true = np.array([0, 0, 0, 0, 1, 1])
    found = np.array([0, 0, 0, 1, 1, 1])
    trimmed = np.array([False, False, False, True, False, False])
    assert clusterwise_misclustering(found, true, trimmed) == pytest.approx(1 / 4)
    trimmed = np.array([False, False, False, True, True, False])
    assert clusterwise_misclustering(found, true, trimmed) == pytest.approx(1 / 2)


def test_a_true_cluster_that_was_not_found_is_wholly_missing():
    true = np.array([0, 0, 1, 1, 2, 2])
    assert clusterwise_misclustering(np.array([0, 0, 1, 1, 1, 1]), true) == 1


def test_centre_error_is_relative_to_the_smallest_gap():
    truth = np.array([[0.0, 0.0], [3.0, 4.0], [100.0, 0.0]])
    assert centre_error(truth + np.array([0.0, 1.0]), truth) == pytest.approx(1 / 5)
    assert centre_error(truth[:1], truth[:1]) is None


def plain_scores(found, true, trimmed, centres, truth):
    """A, G, G^U and Lambda from their definitions, over all ways to match the clusters."""
    k = len(truth)
    everyone = range(len(true))
    best = min(
        itertools.permutations(range(k)),
        key=lambda name: sum(name[found[i]] != true[i] for i in everyone),
    )
    named = [best[label] for label in found]

    def worst(left_in):
        shares = []
        for h in range(k):
            inside = [i for i in everyone if named[i] == h and left_in[i]]
            own = [i for i in everyone if true[i] == h]
            shares.append(sum(true[i] != h for i in inside) / max(len(inside), 1))
            shares.append(sum(i not in inside for i in own) / len(own))
        return max(shares)

    gap = min(np.linalg.norm(a - b) for a, b in itertools.combinations(truth, 2))
    errors = [
        max(np.linalg.norm(centres[i] - truth[h]) for i, h in enumerate(names))
        for names in itertools.permutations(range(k))
    ]
    wrong = sum(named[i] != true[i] for i in everyone) / len(true)
    return wrong, worst([True] * len(true)), worst(~trimmed), min(errors) / gap


@pytest.mark.parametrize("seed", range(20))
def test_all_scores_agree_with_their_definitions(seed):
    source = np.random.default_rng(seed)
    true = np.concatenate([[0, 1, 2], source.integers(0, 3, size=27)])
    noisy = source.random(30) < 0.25
    found = np.where(noisy, source.integers(0, 3, size=30), (true + 1) % 3)
    found[:3] = (true[:3] + 1) % 3
    trimmed = source.random(30) < 0.2
    truth = 10 * source.normal(size=(3, 4))
    centres = np.roll(truth, 1, axis=0) + 0.3 * source.normal(size=(3, 4))
    expected = plain_scores(found, true, trimmed, centres, truth)
    measured = (
        misclustering(found, true),
        clusterwise_misclustering(found, true),
        clusterwise_misclustering(found, true, trimmed),
        centre_error(centres, truth),
    )
    assert measured == pytest.approx(expected)
    order = source.permutation(30)
    assert measured[:3] == (
        misclustering(found[order], true[order]),
        clusterwise_misclustering(found[order], true[order]),
        clusterwise_misclustering(found[order], true[order], trimmed[order]),
    )
    moved = centre_error(-7 * centres + 3, -7 * truth + 3)
    assert moved == pytest.approx(measured[3])
