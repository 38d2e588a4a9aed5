"""Attacks on stage II, by hand: two groups around (0, 0) and (10, 0) with known scatter."""

import numpy as np
import pytest

from tagma.attacks.on_clustering.bridge import Bridge
from tagma.attacks.on_clustering.fake_cluster import FakeCluster
from tagma.attacks.on_clustering.honest_groups import Landscape
from tagma.attacks.on_clustering.infiltrate import Infiltrate
from tagma.attacks.on_clustering.split import Split
from tagma.attacks.on_clustering.starve import Starve
from tagma.errors import SettingError
from tagma.rng import stream
from tests.attacks.views import federation_view

AROUND = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
HONEST = np.vstack([AROUND, AROUND[:2] + np.array([10.0, 0.0])])
GROUPS = np.array([0, 0, 0, 0, 1, 1])
LANDSCAPE = Landscape(HONEST, GROUPS)


def placed(attack, count):
    own = np.full((count, 2), 99.0)
    return attack.forge(federation_view(HONEST, own, honest_groups=GROUPS))


def test_the_landscape_by_hand():
    assert LANDSCAPE.centres.tolist() == [[0.0, 0.0], [10.0, 0.0]]
    assert LANDSCAPE.sizes.tolist() == [4, 2]
    # 4 + 2 squared deviations, 6 clients less 2 centres, 2 entries each.
    assert LANDSCAPE.scatter == pytest.approx(np.sqrt(6 / 8))
    assert LANDSCAPE.typical_gap == 10.0
    assert (LANDSCAPE.largest(), LANDSCAPE.smallest()) == (0, 1)


def test_a_fake_cluster_is_one_gap_from_the_middle_and_as_tight_as_it_says():
    tight = placed(FakeCluster(distance=1.0, scatter=0.0), 3)
    assert np.array_equal(tight[0], tight[1])
    assert np.linalg.norm(tight[0] - [5.0, 0.0]) == pytest.approx(10.0)
    loose = placed(FakeCluster(distance=1.0, scatter=2.0), 2000)
    assert loose.std(axis=0) == pytest.approx(2 * LANDSCAPE.scatter, rel=0.1)


def test_a_bridge_leads_evenly_from_one_centre_to_the_other():
    noise = LANDSCAPE.scatter * stream(0, "test").standard_normal((4, 2))
    steps = np.array([[2.0, 0.0], [4.0, 0.0], [6.0, 0.0], [8.0, 0.0]])
    assert np.allclose(placed(Bridge(), 4), steps + noise)


@pytest.mark.parametrize(("cluster", "centre"), [(0, [0.0, 0.0]), (1, [10.0, 0.0])])
def test_infiltrators_are_around_the_centre_of_their_choice(cluster, centre):
    noise = 0.5 * LANDSCAPE.scatter * stream(0, "test").standard_normal((3, 2))
    assert np.allclose(placed(Infiltrate(cluster=cluster, rho=0.5), 3), centre + noise)


def test_a_cluster_that_is_not_there_cannot_be_infiltrated():
    with pytest.raises(SettingError, match="cluster=7"):
        placed(Infiltrate(cluster=7), 3)


def test_starvers_join_the_smallest_group():
    assert np.allclose(placed(Starve(rho=0.0), 3), [[10.0, 0.0]] * 3)


def test_a_split_stands_on_both_sides_of_the_largest_group():
    sent = placed(Split(rho=1.5, scatter=0.0), 4)
    reach = 1.5 * LANDSCAPE.scatter * np.sqrt(2)
    assert np.allclose(np.linalg.norm(sent, axis=1), reach)
    assert np.allclose(sent[0], -sent[1])
    assert np.allclose(sent[0], sent[2])


@pytest.mark.parametrize("attack", [FakeCluster(), Bridge(), Infiltrate(), Starve(), Split()])
def test_later_rounds_are_left_to_the_attack_that_is_named_for_them(attack):
    models = np.zeros((6, 2))
    view = federation_view(HONEST, [[7.0, 7.0]], honest_models=models, own_models=models[:1])
    assert attack.forge(view).tolist() == [[7.0, 7.0]]


@pytest.mark.parametrize("attack", [FakeCluster(), Bridge(), Infiltrate(), Starve(), Split()])
def test_one_group_is_enough(attack):
    view = federation_view(AROUND, np.zeros((3, 2)))
    assert np.isfinite(attack.forge(view)).all()
