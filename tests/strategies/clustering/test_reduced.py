"""Clustering of updates in few dimensions."""

import numpy as np
import pytest

from tagma.strategies.clustering import Clustering, density
from tagma.strategies.clustering.reduced import (
    coordinates,
    explained_by,
    most_agreeing,
    opposed,
    projection,
    reduced,
    with_more,
)


def trained(seed=0, uneven=False):
    """Models of 24 clients in 2 clusters: noise in 30 of 1000 dimensions only, of other lengths."""
    random = np.random.default_rng(seed)
    labels, ways = np.arange(24) % 2, random.standard_normal((2, 1000))
    initial = random.standard_normal(1000)
    strong = random.standard_normal((30, 1000))
    noise = random.standard_normal((24, 30)) @ strong / np.sqrt(30)
    lengths = random.uniform(0.5, 5, 24)[:, None]
    examples = np.where(np.arange(24) % 3, 80, 10) if uneven else np.full(24, 40)
    noise *= np.sqrt(40 / examples)[:, None]
    return labels, initial, initial + lengths * (ways[labels] + 0.7 * noise), examples


def test_clusters_are_found_whose_updates_differ_in_length_and_scatter_in_few_directions():
    labels, initial, models, examples = trained()
    found = reduced(density, models, initial, examples, seed=0)
    assert found.k == 2
    assert not found.trimmed.any()
    assert len(set(zip(labels.tolist(), found.labels.tolist(), strict=True))) == 2
    means = [models[found.labels == k].mean(axis=0) for k in range(2)]
    np.testing.assert_allclose(found.centres, means)
    away = np.linalg.norm(models - found.centres[found.labels], axis=1)
    assert (away <= found.radius[found.labels] * (1 + 1e-9)).all()


def test_clients_with_few_examples_join_the_clusters_of_the_others():
    labels, initial, models, examples = trained(uneven=True)
    found = reduced(density, models, initial, examples, seed=0)
    assert found.k == 2
    assert len(set(zip(labels.tolist(), found.labels.tolist(), strict=True))) == 2


def test_coordinates_keep_the_angles_of_updates():
    updates = np.array([[3.0, 0, 0, 0], [0, 0.1, 0, 0], [5, 5, 0, 0]])
    points = coordinates(updates)
    assert points.shape == (3, 3)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        points @ points.T, [[1, 0, half], [0, 1, half], [half, half, 1]], atol=1e-12
    )


def test_a_client_that_did_not_move_has_no_direction():
    assert coordinates(np.zeros((2, 5))).tolist() == [[0, 0], [0, 0]]


def test_projections_follow_from_the_seed_and_their_number():
    points = np.eye(3)
    assert np.array_equal(projection(points, 1, 0), projection(points, 1, 0))
    assert not np.array_equal(projection(points, 1, 0), projection(points, 1, 1))


def grouping(labels, trimmed=()):
    labels = np.array(labels)
    out = np.isin(np.arange(len(labels)), trimmed)
    k = labels.max() + 1
    return Clustering(labels, np.zeros((k, 1)), out, np.ones(k), labels[None], 0, "by hand")


def test_the_grouping_that_agrees_with_most_is_taken():
    assert most_agreeing([grouping([0] * 4), grouping([0, 0, 1, 1]), grouping([1, 1, 0, 0])]) == 1
    outside = grouping([0, 0, 1, 1], trimmed=[0])
    assert most_agreeing([outside, grouping([0, 0, 1, 1]), grouping([0, 0, 1, 1])]) == 1


def test_who_points_away_from_most_is_opposed_but_never_half_of_all():
    points = np.array([[1.0, 1], [1, -1], [1, 0], [-1, 0]])
    assert opposed(points).tolist() == [False, False, False, True]
    assert not opposed(np.array([[1.0], [-1.0]])).any()


def test_opposed_clients_are_clusters_of_their_own_or_outside():
    labels, initial, models, examples = trained()
    for flipped in (6, 2):
        sent = models.copy()
        sent[:flipped] = initial - 4 * (models[:flipped] - initial)
        found = reduced(density, sent, initial, examples, seed=0)
        honest = np.arange(24) >= flipped
        assert not found.trimmed[honest].any()
        assert (
            len(set(zip(labels[honest].tolist(), found.labels[honest].tolist(), strict=True))) == 2
        )
        apart = found.trimmed | ~np.isin(found.labels, found.labels[honest])
        assert apart[:flipped].all()


@pytest.mark.parametrize(
    ("examples", "first"),
    [
        (None, [0, 1, 2, 3]),
        ([40, 41, 42, 38], [0, 1, 2, 3]),
        ([0, 0, 0, 0], [0, 1, 2, 3]),
        ([40, 0, 41, 40], [0, 1, 2, 3]),  # who does not say how many it has, has as many as most
        ([80, 10, 60, 70], [0, 2, 3]),
        ([80, 10, 0, 60], [0, 2, 3]),
    ],
)
def test_those_with_far_fewer_examples_come_second(examples, first):
    told = None if examples is None else np.array(examples)
    assert np.flatnonzero(with_more(told, 4)).tolist() == first


def test_a_centre_explains_a_point_that_goes_a_third_of_the_way_to_it():
    centres = np.array([[3.0, 0], [-3.0, 0]])
    points = np.array([[1.1, 9], [0.9, 0], [-3, -3], [30, 0]])
    labels, out = explained_by(points, centres)
    assert labels.tolist() == [0, 0, 1, 0]
    assert out.tolist() == [False, True, False, False]
    assert explained_by(points[2:], centres[:1])[1].tolist() == [True, False]  # from the origin
