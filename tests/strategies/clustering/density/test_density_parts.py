"""What every part of density clustering is for: without it, these fail."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagma.bench.experiments.array_federation import array_federation
from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import density, random_labels, trimmed_kmeans
from tagma.strategies.clustering.density import revision
from tagma.strategies.clustering.density.constants import Constants
from tagma.strategies.clustering.density.copies import find_copies
from tagma.strategies.clustering.density.modes import _toward_the_middle, find_modes
from tagma.strategies.clustering.density.projection import signal_coordinates
from tagma.strategies.clustering.density.revision import _SAMPLE, _modes, find_clusters
from tagma.strategies.clustering.nearest_neighbours import (
    linked,
    neighbour_distances,
    neighbours_within,
)
from tests.strategies.clustering.density.test_density import groups_of, with_byzantine

DEFAULTS = Constants()


def test_wider_passes_find_groups_that_are_sparser_than_most():
    source = np.random.default_rng(0)
    points = np.vstack([source.normal(size=(60, 5)), 20 + 2.2 * source.normal(size=(12, 5))])
    one_pass = find_modes(points, 6, Constants(second_pass=1, third_pass=1))
    assert (one_pass[60:] < 0).all()
    for two_passes in (Constants(third_pass=1), Constants(second_pass=1)):
        assert (find_modes(points, 6, two_passes)[60:] >= 0).mean() >= 0.5


def test_steps_to_neighbours_lead_into_the_middle_of_a_group():
    points = np.random.default_rng(0).normal(size=(80, 6))
    moved, _ = _toward_the_middle(points, 3)
    assert moved.mean() < 0.95 * cdist(points, points).mean()


@pytest.mark.parametrize("seed", [2, 7, 10, 21, 28])
def test_groups_that_come_close_in_few_dimensions_are_split(seed):
    points, groups = groups_of(14, 14, 14, 14, 14, dim=10, distance=5.0, seed=seed)
    byzantine = 15 * np.random.default_rng(seed).normal(size=(30, 10))
    everyone = with_byzantine(points, byzantine)
    found = density(everyone)
    assert found.k == 5
    assert misclustering(found.labels[:70], groups) <= 0.05
    assert density(everyone, constants=Constants(stretch=1e9)).k < 5


@pytest.mark.parametrize("seed", [3, 8, 10])
def test_where_modes_do_not_split_a_group_the_sides_of_its_mean_do(seed, monkeypatch):
    points, _ = groups_of(14, 14, 14, 14, 14, dim=10, distance=5.0, seed=seed)
    points = with_byzantine(points, 15 * np.random.default_rng(seed).normal(size=(30, 10)))
    assert find_clusters(points, 5, DEFAULTS).k == 5
    monkeypatch.setattr(revision, "_sides", lambda rows: np.zeros(len(rows), dtype=int))
    assert find_clusters(points, 5, DEFAULTS).k < 5


@pytest.mark.parametrize("seed", [503, 508])
def test_smaller_balls_show_modes_that_larger_ones_join(seed):
    local_models = array_federation(["task.dim=10", "task.samples=40", f"seed={seed}"]).local_models
    assert density(local_models).k == 5
    assert density(local_models, constants=Constants(finer=1.0)).k < 5


@pytest.mark.parametrize("seed", [14, 17, 19])
def test_clients_outside_all_balls_may_form_a_cluster(seed):
    points, groups = groups_of(20, 20, 20, 20, 10, dim=3, distance=25.0, seed=seed)
    byzantine = 30 * np.random.default_rng(seed).normal(size=(30, 3))
    found = density(with_byzantine(points, byzantine))
    assert found.k == 5
    assert misclustering(found.labels[:90], groups) == 0


@pytest.mark.parametrize("dim", [20, 60])
def test_a_crowd_far_wider_than_most_clusters_is_none(dim):
    points, _ = groups_of(30, 30, dim=dim)
    everyone = with_byzantine(points, 20 + 3 * np.random.default_rng(1).normal(size=(20, dim)))
    found = density(everyone)
    assert found.k == 2
    assert found.trimmed[60:].all()
    assert density(everyone, constants=Constants(wide=100)).k == 3


def test_of_very_many_vectors_some_show_the_modes_and_all_are_placed():
    points, groups = groups_of(_SAMPLE, _SAMPLE + 1, dim=4, distance=30.0)
    modes = _modes(points, 200, DEFAULTS)
    assert (modes[::3] >= 0).mean() > 0.7
    assert (np.delete(modes, np.arange(0, len(modes), 3)) < 0).all()
    found = find_clusters(points, 200, DEFAULTS)
    assert found.k == 2
    inside = found.members >= 0
    assert inside.mean() > 0.99
    assert misclustering(found.members[inside], groups[inside]) == 0


def test_far_byzantine_clients_do_not_turn_the_projection():
    points, _ = groups_of(30, 30)
    far = 1e3 * np.random.default_rng(1).normal(size=(25, 60))
    flat = signal_coordinates(with_byzantine(points, far), DEFAULTS)
    assert flat.shape[1] <= 10
    gaps = [np.linalg.norm(p[:30].mean(axis=0) - p[30:60].mean(axis=0)) for p in (points, flat)]
    assert gaps[1] > 0.98 * gaps[0]


def test_in_one_dimension_points_that_happen_to_be_close_are_no_copies():
    alone = [
        find_copies(np.random.default_rng([1, seed]).normal(size=(60, 1)), 4, DEFAULTS)
        for seed in range(20)
    ]
    assert sum(len(groups) > 0 for groups in alone) <= 4


def test_copies_are_a_cluster_only_while_k_allows_it():
    points, _ = groups_of(20, 20, 20)
    everyone = with_byzantine(points, np.full((30, 60), 7.0))
    for k, copied in ((2, False), (3, False), (4, True), (5, True)):
        found = density(everyone, k=k)
        assert found.k == min(k, 4)
        assert found.trimmed[60:].any() != copied
        assert any(found.suspect) == copied


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
