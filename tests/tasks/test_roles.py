import numpy as np
import pytest

from tagma.tasks.roles import byzantine_clients, cluster_labels


@pytest.mark.parametrize(("fraction", "count"), [(0, 0), (0.1, 1), (0.3, 3), (0.31, 4), (0.49, 5)])
def test_the_number_of_byzantine_clients_is_rounded_up(fraction, count):
    assert byzantine_clients(10, fraction, seed=3).sum() == count


def test_a_larger_fraction_only_adds_byzantine_clients():
    few, more = byzantine_clients(50, 0.1, 1), byzantine_clients(50, 0.4, 1)
    assert more[few].all()


@pytest.mark.parametrize("fraction", [0, 0.1, 0.3, 0.47])
def test_honest_clients_are_spread_evenly_over_the_clusters(fraction):
    honest = ~byzantine_clients(100, fraction, seed=4)
    sizes = np.bincount(cluster_labels(100, 7, seed=4)[honest], minlength=7)
    assert sizes.max() - sizes.min() <= 1


def test_seeds_choose_different_clients():
    assert not np.array_equal(byzantine_clients(50, 0.3, 1), byzantine_clients(50, 0.3, 2))


@pytest.mark.parametrize("fraction", [0, 0.2, 0.4])
def test_honest_clients_keep_the_given_sizes(fraction):
    honest = ~byzantine_clients(100, fraction, seed=4)
    labels = cluster_labels(100, 3, seed=4, sizes=[5, 3, 2])
    sizes = np.bincount(labels[honest])
    assert np.abs(sizes - (1 - fraction) * np.array([50, 30, 20])).max() <= 1


def test_equal_sizes_are_no_different_from_none():
    given = cluster_labels(60, 5, seed=2, sizes=[1, 1, 1, 1, 1])
    assert np.array_equal(np.sort(np.bincount(given)), np.full(5, 12))
