from math import inf, sqrt

import numpy as np
import pytest

from tagma.strategies.clustering import density
from tagma.strategies.screening.placement import Place, newcomers_room, place

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0]])
MANY = np.array([10**9, 10**9])


def test_the_nearest_cluster_whose_ball_holds_the_client():
    found = place(np.array([9.0, 0.0]), CENTRES, np.array([2.0, 4.0]), MANY)
    assert (found.cluster, found.inside) == (1, True)
    assert found.distance == pytest.approx(0.25)
    outside = place(np.array([0.0, 3.0]), CENTRES, np.array([2.0, 4.0]), MANY)
    assert (outside.cluster, outside.inside) == (0, False)
    assert outside.distance == pytest.approx(1.5)


def test_a_cluster_without_a_ball_takes_everybody():
    assert place(np.array([0.0, 99.0]), CENTRES, np.full(2, inf), MANY) == Place(0, inf, True)


def test_for_newcomers_the_ball_of_few_members_is_larger():
    assert newcomers_room(5) == pytest.approx(sqrt(6 / 4))
    assert newcomers_room(0) == newcomers_room(1) == newcomers_room(2) == sqrt(3)
    local, radii = np.array([0.0, 2.2]), np.array([2.0, 2.0])
    assert place(local, CENTRES, radii, np.array([5, 5])).inside
    assert not place(local, CENTRES, radii, np.array([50, 50])).inside


def test_honest_newcomers_are_refused_as_seldom_as_members():
    source = np.random.default_rng(0)
    refused = []
    for _ in range(20):
        found = density(source.normal(size=(12, 40)))
        assert found.k == 1
        members = np.array([12])
        for local in source.normal(size=(40, 40)):
            at = place(local, found.centres, found.radius, members, found.noise)
            refused.append(not at.inside)
    assert np.mean(refused) <= 0.02
