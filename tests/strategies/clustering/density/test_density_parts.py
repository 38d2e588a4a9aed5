"""What every part of density clustering is for: without it, these fail."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import density, random_labels, trimmed_kmeans
from tagma.strategies.clustering.density import revision
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.coordinates import coordinate_medians, first_units
from tagma.strategies.clustering.density.copies import superfluous
from tagma.strategies.clustering.density.membership import newcomer, polish
from tagma.strategies.clustering.density.modes import find_modes
from tagma.strategies.clustering.density.noise import noise_outside
from tagma.strategies.clustering.density.projection import signal_directions
from tagma.strategies.clustering.density.revision import Known, near_pairs
from tagma.strategies.clustering.density.separation import (
    Group,
    apart_at_least,
    by_chance,
    oblong,
    separation,
    stretch_of,
    two_means,
    without_noise,
)
from tagma.strategies.clustering.nearest_neighbours import (
    linked,
    neighbour_distances,
    neighbours_within,
)
from tests.strategies.clustering.density.test_density import groups_of, with_byzantine

DEFAULTS = Constants()


def squared(points):
    return cdist(points, points, "sqeuclidean")


def group(rows, noise=1.0):
    return Group(rows, np.ones(len(rows)), noise**2)


def test_each_client_is_measured_by_its_own_noise():
    points, groups = groups_of(20, 20, 20, distance=30.0)
    noisy = points + np.where(groups == 2, 3.0, 0.0)[:, None] * np.random.default_rng(1).normal(
        size=points.shape
    )
    found = density(noisy)
    assert found.k == 3
    assert not found.trimmed.any()
    assert found.noise.scales[groups < 2] == pytest.approx(1, rel=0.35)
    assert found.noise.scales[groups == 2] == pytest.approx(10**0.5, rel=0.35)


def test_tight_byzantine_clients_around_true_centres_put_nobody_in_quarantine():
    points, groups = groups_of(15, 15, 15, 15, distance=20.0)
    centres = np.array([points[groups == k].mean(axis=0) for k in (0, 1)])
    tight = centres[np.arange(40) % 2] + 0.45 * np.random.default_rng(2).normal(size=(40, 60))
    found = density(with_byzantine(points, tight))
    assert found.k == 4
    assert not found.trimmed[:60].any()
    assert misclustering(found.labels[:60], groups) == 0


def test_near_copies_ban_nobody_but_copies():
    points, _ = groups_of(15, 15, 15, 15, distance=20.0)
    near = np.repeat(points[:10], 4, axis=0)
    near += 0.05 * np.random.default_rng(3).normal(size=near.shape)
    found = density(with_byzantine(points, near))
    assert found.k == 4
    assert not found.trimmed[10:60].any()
    assert found.trimmed.sum() == 40


def test_the_clients_of_a_small_and_far_cluster_are_no_copies_of_each_other():
    for seed in range(20):
        source = np.random.default_rng([17, seed])
        points = source.normal(size=(24, 110))
        points[:6] += 160 / 110**0.5 * source.choice([-1, 1], size=110)
        found = density(points)
        assert np.bincount(found.labels).tolist() == [18, 6]
        assert not found.trimmed.any()


def test_one_of_each_group_of_copies_stays():
    points = np.random.default_rng(4).normal(size=(10, 30))
    points[3] = points[7] + 0.01
    points[5] = points[7] - 0.01
    aside = superfluous(squared(points), np.ones(10), 1.0, 30, DEFAULTS)
    assert np.flatnonzero(aside).tolist() == [3, 5]


def test_a_tight_group_farther_away_than_noise_explains_is_not_made_of_copies():
    source = np.random.default_rng(8)
    points = source.normal(size=(25, 60))
    points[:5] = 0.4 * points[:5] + 100 / 60**0.5
    loud = np.where(np.arange(25) < 5, 10.0, 1.0)  # the way to them counts as their noise
    assert not superfluous(squared(points), loud, 1.0, 60, DEFAULTS).any()
    points[:5] -= 100 / 60**0.5  # copies of one client
    aside = superfluous(squared(points), loud, 1.0, 60, DEFAULTS)
    assert np.flatnonzero(aside).tolist() in [[i for i in range(5) if i != j] for j in range(5)]


def test_clusters_that_are_hardly_apart_are_suspect():
    points, _ = groups_of(20, 20, 20, distance=30.0, dim=20)
    near = points[:20].mean(axis=0) + np.random.default_rng([9, 1]).normal(size=(20, 20))
    for gap, doubted in ((4.5, 2), (6.0, 0)):
        found = density(np.concatenate([points, near + gap * np.eye(20)[3]]))
        assert found.k == 4
        said = [reason for reason in found.suspect if reason]
        assert len(said) == doubted
        assert all("they may be one" in reason for reason in said)


def test_a_client_between_two_clusters_may_be_in_the_wrong_one():
    points, _ = groups_of(20, 20, distance=4.5, dim=20)
    first, second = points[:20].mean(axis=0), points[20:].mean(axis=0)
    line = (second - first) / np.linalg.norm(second - first)
    points[3] += ((first + second) / 2 - points[3]) @ line * line
    found = density(points)
    assert found.k == 2
    assert found.between[3].all()
    assert found.between.any(axis=1).sum() <= 5
    far, _ = groups_of(20, 20, distance=30.0, dim=20)
    assert not density(far).between.any()


def test_clients_outside_who_are_near_each_other_are_a_group():
    points, _ = groups_of(20, 20, 3, distance=30.0)
    found = density(points)
    assert found.k == 2
    assert found.loose.tolist() == [-1] * 40 + [0] * 3
    points[40] += 100.0
    assert (density(points).loose == -1).all()


def test_copies_that_scatter_around_clients_of_one_cluster_are_aside():
    points, _ = groups_of(12, 12, 12, 12, distance=30.0, dim=100)
    source = np.random.default_rng(10)
    copies = np.repeat(points[:10], 4, axis=0) + 0.67 * source.normal(size=(40, 100))
    found = density(np.concatenate([points, copies]))
    assert found.k == 4
    assert found.trimmed.tolist() == [False] * 48 + [True] * 40


def test_tight_clusters_as_near_as_clients_of_one_are_suspect():
    points, _ = groups_of(12, 12, 12, 12, distance=30.0, dim=100)
    source = np.random.default_rng(11)
    places = points[0] + 1.1 * source.normal(size=(4, 100))
    tight = np.repeat(places, 6, axis=0) + 0.5 * source.normal(size=(24, 100))
    found = density(np.concatenate([points[12:], tight]))
    small = np.bincount(found.labels) == 6
    assert small.sum() == 4
    assert [reason is not None for reason in found.suspect] == small.tolist()


def test_in_one_dimension_points_that_happen_to_be_close_are_no_copies():
    source = np.random.default_rng(1)
    alone = [
        superfluous(squared(points), np.ones(60), 1.0, 1, DEFAULTS).any()
        for points in source.normal(size=(20, 60, 1))
    ]
    assert sum(alone) <= 1


def test_a_crowd_halfway_between_two_clusters_does_not_merge_them():
    source = np.random.default_rng(5)
    centres = 7.1 * np.eye(2, 100)  # ten deviations apart
    points = np.concatenate([centres[0] + source.normal(size=(15, 100)),
                             centres[1] + source.normal(size=(15, 100)),
                             centres.mean(axis=0) + source.normal(size=(20, 100))])  # fmt: skip
    found = density(points)
    groups = np.repeat([0, 1, 2], [15, 15, 20])
    assert found.k == 3
    assert misclustering(found.labels, groups) <= 0.04


def test_the_smallest_cluster_is_four_clients_among_however_many():
    points, groups = groups_of(60, 60, 60, 4, distance=20.0)
    found = density(points)
    assert found.k == 4
    assert misclustering(found.labels, groups) == 0


def test_twenty_clusters_of_twenty_are_found():
    points, groups = groups_of(*[20] * 20, distance=14.0)
    found = density(points)
    assert found.k == 20
    assert misclustering(found.labels, groups) == 0


def test_features_on_scales_from_1_to_100_are_measured_in_their_own_units():
    points, groups = groups_of(20, 20, 20, distance=30.0)
    stretched = points * np.geomspace(1, 100, 60)
    found = density(stretched)
    assert found.k == 3
    assert misclustering(found.labels, groups) == 0
    assert found.noise.units[-1] / found.noise.units[0] > 30
    assert (density(points).noise.units == 1).all()


def test_clients_with_few_examples_may_be_noisier():
    points, _ = groups_of(25, 25, distance=30.0)
    points[:2] = points[2:25].mean(axis=0) + 3.5 * np.random.default_rng(6).normal(size=(2, 60))
    assert density(points).trimmed[:2].all()
    examples = np.where(np.arange(50) < 2, 20, 200)
    assert not density(points, examples=examples).trimmed.any()


def test_twice_the_noise_of_most_leaves_nobody_out():
    points, _ = groups_of(25, 25, distance=30.0)
    points[:2] = points[2:25].mean(axis=0) + 2 * np.random.default_rng(6).normal(size=(2, 60))
    assert not density(points).trimmed.any()


def test_a_few_clients_of_another_cluster_do_not_make_two_one():
    source = np.random.default_rng(15)
    first, second = source.normal(size=(2, 20, 10))
    second[:, 0] += 6
    first[:3] = second[:3]
    assert separation(group(first), group(second)) > 3.4


def test_many_weak_directions_make_a_cluster_oblong_where_none_is_beyond_the_noise_edge():
    source = np.random.default_rng(16)
    round_, merged = source.normal(size=(2, 100, 100))
    merged += 4 / 2**0.5 * np.eye(100)[np.arange(100) % 5]
    apart = [rows - rows.mean(axis=0) for rows in (round_, merged)]
    assert stretch_of(apart[1], np.ones(100)) < 1.1
    assert oblong(apart[0]) < 2.5 * by_chance(100) < oblong(apart[1])


def test_who_claims_few_examples_has_no_room_beyond_the_limit():
    points, _ = groups_of(25, 25, distance=30.0)
    points[:2] = points[2:25].mean(axis=0) + 6 * np.random.default_rng(6).normal(size=(2, 60))
    examples = np.where(np.arange(50) < 2, 1, 10**6)
    assert density(points, examples=examples).trimmed[:2].all()


def test_halves_of_one_cluster_are_not_apart_whatever_its_dimension():
    for dim in (1, 3, 20, 100):
        for seed in range(10):
            rows = np.random.default_rng([dim, seed]).normal(size=(20, dim))
            direction = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
            parts = two_means(rows, direction)
            assert separation(group(rows[parts == 0]), group(rows[parts == 1])) < 3.2


def test_clusters_six_deviations_apart_are():
    source = np.random.default_rng(7)
    for dim in (2, 20, 100):
        first, second = source.normal(size=(2, 20, dim))
        second[:, 0] += 6
        assert separation(group(first), group(second)) > 3.4


def test_equal_groups_and_single_clients_are_not_apart():
    rows = np.ones((4, 3))
    assert separation(group(rows, 0.0), group(rows, 0.0)) == 0
    assert separation(group(rows[:1]), group(2 * rows)) == 0
    assert separation(group(rows, 0.0), group(2 * rows, 0.0)) == np.inf


def test_a_stretched_cluster_is_marked_and_others_are_not():
    points, _ = groups_of(40, 40, dim=40, distance=60.0)
    assert density(points).stretched == (False, False)
    points[:40, 0] += 2.5 * np.random.default_rng(13).normal(size=40)
    found = density(points)
    assert found.k == 2
    assert sum(found.stretched) == 1
    assert found.stretched[found.labels[0]]


def test_stretch_is_one_at_the_edge_of_noise():
    stretches = [
        stretch_of(np.random.default_rng(seed).normal(size=(40, 60)), np.ones(40))
        for seed in range(30)
    ]
    assert 0.9 < np.mean(stretches) < 1
    assert np.mean(np.array(stretches) > 1) <= 0.1


def test_a_variance_of_a_sample_is_larger_than_the_true_one():
    assert without_noise(1.5, 0.5) == 1
    spiked = np.random.default_rng(8).normal(size=(4000, 1000))
    spiked[:, 0] *= 3
    largest = np.linalg.svd(spiked, compute_uv=False)[0] ** 2 / 4000
    assert without_noise(largest, 0.25) == pytest.approx(9, rel=0.1)


def test_modes_are_found_where_vectors_are_dense_for_their_noise():
    source = np.random.default_rng(9)
    points = np.vstack([source.normal(size=(30, 4)), 15 + 3 * source.normal(size=(20, 4))])
    scales = np.repeat([1.0, 3.0], [30, 20])
    modes = find_modes(points, squared(points), scales, 4)
    assert sorted(np.unique(modes[modes >= 0])) == [0, 1]
    assert misclustering(np.maximum(modes, 0), np.repeat([0, 1], [30, 20])) < 0.25


def test_few_degrees_of_freedom_take_the_noise_as_given():
    assert noise_outside(np.zeros(10), 0, 0.5, DEFAULTS).scales == pytest.approx(0.5)
    own = noise_outside(np.full(10, 400.0), 100, 7.0, DEFAULTS)
    assert own.typical == pytest.approx(2, rel=0.01)


def test_far_byzantine_clients_do_not_turn_the_projection():
    points, _ = groups_of(30, 30)
    far = 1e3 * np.random.default_rng(1).normal(size=(25, 60))
    gaps = []
    for rows in (points, with_byzantine(points, far)):
        centred = rows - np.median(rows, axis=0)
        basis, strong = signal_directions(centred, np.ones(len(rows)), DEFAULTS)
        assert strong <= len(basis)
        flat = centred @ basis.T
        gaps.append(np.linalg.norm(flat[:30].mean(axis=0) - flat[30:60].mean(axis=0)))
    assert gaps[1] > 0.95 * gaps[0]


def test_units_are_given_only_where_coordinates_differ():
    points = np.random.default_rng(10).normal(size=(60, 20))
    assert (first_units(points, DEFAULTS) == 1).all()
    units = first_units(points * np.where(np.arange(20) < 8, 30.0, 1.0), DEFAULTS)
    assert units[:8].min() > 10 * units[8:].max()


def test_coordinates_that_do_not_vary_have_no_say():
    points, groups = groups_of(20, 20, 20, distance=30.0)
    dead = np.hstack([points[:, :45], np.zeros((60, 15))])
    assert (first_units(dead, DEFAULTS) == 1).all()
    assert misclustering(density(dead).labels, groups) == 0


def test_noise_in_few_of_very_many_directions_is_no_signal():
    source = np.random.default_rng(14)
    centres, basis = 2.5 * np.eye(4, 2000), source.normal(size=(40, 2000)) / 2000**0.5
    groups = np.arange(40) % 4
    found = density(centres[groups] + 0.35 * source.normal(size=(40, 40)) @ basis)
    assert found.k == 4
    assert misclustering(found.labels, groups) == 0


def test_the_coordinate_median_is_that_of_numpy():
    for rows in (np.random.default_rng(11).normal(size=(size, 3)) for size in (1, 2, 7, 8)):
        assert np.allclose(coordinate_medians(rows), np.median(rows, axis=0))


def test_a_newcomer_is_judged_as_members_were():
    points, _ = groups_of(20, 20, 20, distance=30.0)
    found = density(points)
    own, away, weight = newcomer(found.centres[1] + 0.5, found.centres, found.noise)
    assert (own, weight) == (1, 1)
    assert away < 1
    beside = found.centres[1] + 0.4 * (found.centres[0] - found.centres[1])
    assert newcomer(beside, found.centres, found.noise)[1] > 1
    noisy = found.centres[1] + 5 * np.random.default_rng(12).normal(size=60)
    _, away, weight = newcomer(noisy, found.centres, found.noise)
    assert away > 1
    assert weight < 0.2


def test_the_radius_that_trimmed_kmeans_finds_is_that_of_the_noise():
    points, _ = groups_of(40, 40, 40)
    initial = random_labels(np.arange(120), k=3, restarts=20, seed=0)
    auto, twice = (
        trimmed_kmeans(points, initial, k=3, iterations=20, fraction=0.35, radius=radius)
        for radius in ("auto", 2.0)
    )
    assert twice.radius[0] > 1.7 * 60**0.5
    assert 1.1 * 60**0.5 < auto.radius[0] < 1.6 * 60**0.5


def test_neighbours_are_the_same_in_blocks_of_any_size(monkeypatch):
    points = np.array([[0.0], [1.0], [2.5], [10.0], [11.0]])
    for block in (1, 2, 1000):
        monkeypatch.setattr("tagma.strategies.clustering.nearest_neighbours._BLOCK", block)
        assert neighbour_distances(points, 1).tolist() == [1, 1, 1.5, 1, 1]
        assert neighbours_within(points, 1.5).tolist() == [1, 2, 1, 1, 1]
        assert linked(points, 1.5).tolist() == [0, 0, 0, 1, 1]
        assert linked(points, 0.5).tolist() == [0, 1, 2, 3, 4]


def test_no_two_groups_are_nearer_than_the_bound_says():
    near = total = 0
    for seed in range(60):
        source = np.random.default_rng([23, seed])
        dim, k = int(source.integers(1, 40)), int(source.integers(2, 9))
        groups = []
        for _ in range(k):
            count = int(source.integers(1, 25))
            rows = source.normal(size=(count, dim)) + source.normal(scale=4 / dim**0.5, size=dim)
            rows[: count // 5] *= source.uniform(1, 6)
            groups.append(Group(rows, source.uniform(0.1, 1, size=count), source.uniform(0, 2)))
        groups.append(groups[0])
        bound = apart_at_least(groups)
        for a, first in enumerate(groups):
            for b, second in enumerate(groups[:a]):
                true = separation(second, first)
                assert bound[a, b] == bound[b, a]
                assert bound[a, b] <= 0 or true >= bound[a, b] * (1 - 1e-9)
                near, total = near + (true < DEFAULTS.apart), total + 1
    assert 0 < near < total


@pytest.mark.parametrize("within", [DEFAULTS.apart, DEFAULTS.doubting.hardly, 12.0])
def test_pairs_that_are_passed_over_are_not_near(monkeypatch, within):
    for seed in range(15):
        known, fit = rough_clusters(seed)
        found = near_pairs(known, fit, within)
        with monkeypatch.context() as patched:
            patched.setattr(
                revision, "apart_at_least", lambda groups: np.full((len(groups),) * 2, -np.inf)
            )
            assert near_pairs(known, fit, within) == found
            everything = near_pairs(known, fit, np.inf)
        assert found == [pair for pair in everything if pair[0] < within]


def rough_clusters(seed):
    """Eight groups, some of which overlap, and noisy clients among them."""
    source = np.random.default_rng([29, seed])
    centres = source.normal(scale=1.5, size=(8, 20))
    groups = np.arange(160) % 8
    vectors = centres[groups] + source.normal(size=(160, 20))
    vectors[::11] += 3 * source.normal(size=(15, 20))
    strong = np.linalg.qr(source.normal(size=(20, 6)))[0].T
    known = Known(
        vectors, vectors @ strong.T, strong, np.ones(160), 1.0, 1.0, np.ones(160), 4, DEFAULTS
    )
    return known, polish(vectors, groups, 1.0, 1.0, known.room, DEFAULTS)
