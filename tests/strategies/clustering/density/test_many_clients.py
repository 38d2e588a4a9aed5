"""Clusters that are found among some clients are those that are found among all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies.clustering import density
from tagma.strategies.clustering.density.drawn import some_of
from tests.strategies.clustering.density.test_density import groups_of


@given(
    seed=st.integers(0, 10**6),
    clusters=st.integers(1, 5),
    byzantine=st.sampled_from([0.0, 0.2, 0.3]),
)
@settings(max_examples=15, deadline=None)
def test_the_same_clusters_as_among_all(seed, clusters, byzantine):
    points, _ = groups_of(*(160,) * clusters, dim=40, seed=seed)
    source = np.random.default_rng(seed)
    forged = source.random(len(points)) < byzantine
    points[forged] += 4 * source.normal(size=(forged.sum(), 40))
    whole, some = density(points), density(points, sample=max(100, len(points) // 3))
    assert some.k == whole.k
    kept = ~(whole.trimmed | some.trimmed)
    assert misclustering(some.labels[kept], whole.labels[kept]) == 0
    assert (whole.trimmed != some.trimmed).mean() <= 0.01
    for centre in whole.centres:
        assert np.linalg.norm(some.centres - centre, axis=1).min() < 0.2


def test_a_cluster_too_small_to_be_drawn_is_found_among_who_is_left():
    points, groups = groups_of(2000, 2000, 40, dim=40)
    drawn = some_of(len(points), 150)
    assert (groups[drawn] == 2).sum() < 4
    found = density(points, sample=150)
    assert found.k == 3
    assert misclustering(found.labels, groups) == 0


def test_copies_of_a_client_that_was_drawn_are_aside():
    points, _ = groups_of(300, 300, dim=40)
    copied = points[:1] + 0.15 * np.random.default_rng(1).normal(size=(120, 40))
    found = density(np.vstack([points, copied]), sample=200)
    assert found.k == 2
    assert found.trimmed[600:].sum() >= 118
    assert found.trimmed[:600].mean() <= 0.02


def test_where_there_is_no_group_everyone_is_in_one_cluster():
    source = np.random.default_rng(0)
    points = source.normal(size=(500, 3)) * source.lognormal(sigma=3, size=(500, 1))
    whole, some = density(points, smallest=300), density(points, smallest=300, sample=250)
    assert np.isinf([*whole.radius, *some.radius]).all()
    np.testing.assert_array_equal(some.centres, whole.centres)


@pytest.mark.parametrize("count", [5, 100, 101, 5000])
def test_who_is_drawn_are_different_clients_in_order(count):
    drawn = some_of(count, 100)
    assert len(drawn) == min(count, 100)
    assert (np.diff(drawn) > 0).all()
    assert drawn[-1] < count
