"""Attacks by who knows the algorithm, by hand: two groups around (0, 0) and (10, 0)."""

import numpy as np
import pytest

from tagma.attacks.adaptive.as_claimed import AsClaimed
from tagma.attacks.adaptive.copycat import Copycat
from tagma.attacks.adaptive.imposters import Imposters
from tagma.attacks.adaptive.tilt import Tilt
from tagma.attacks.adaptive.turned_replies import agreement, turned
from tagma.attacks.on_clustering.bridge import Bridge
from tagma.attacks.on_clustering.honest_groups import Landscape
from tests.attacks.views import federation_view

AROUND = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
HONEST = np.vstack([AROUND, AROUND[:2] + np.array([10.0, 0.0])])
GROUPS = np.array([0, 0, 0, 0, 1, 1])
SCATTER = Landscape(HONEST, GROUPS).scatter
BIG, SMALL = np.array([0.0, 0.0]), np.array([10.0, 0.0])


def placed(attack, count):
    own = np.full((count, 2), 99.0)
    return attack.forge(federation_view(HONEST, own, honest_groups=GROUPS))


def test_imposters_are_at_their_distance_from_the_smallest_cluster_all_on_one_side():
    sent = placed(Imposters(clusters=1, distance=3.0, scatter=0.0), 4)
    assert np.allclose(np.linalg.norm(sent - SMALL, axis=1), 3 * SCATTER)
    assert np.allclose(sent, sent[0])


def test_imposters_of_every_cluster_are_dealt_in_turn_the_smallest_first():
    sent = placed(Imposters(clusters=None, distance=1.0, scatter=0.0), 5)
    assert np.allclose(np.linalg.norm(sent[::2] - SMALL, axis=1), SCATTER)
    assert np.allclose(np.linalg.norm(sent[1::2] - BIG, axis=1), SCATTER)


def test_those_who_shrink_a_cluster_scatter_less_than_its_clients_around_its_centre():
    sent = placed(Imposters(clusters=1, distance=0.0, scatter=0.45), 4000)
    assert sent.mean(axis=0) == pytest.approx(SMALL, abs=0.05)
    assert sent.std(axis=0) == pytest.approx(0.45 * SCATTER, rel=0.05)


def test_copycats_are_as_many_around_each_victim_as_they_say_and_begin_with_the_smallest_cluster():
    sent = placed(Copycat(copies=2, scatter=0.0), 6)
    copied = [tuple(row) for row in sent.tolist()]
    assert sorted(copied.count(victim) for victim in set(copied)) == [2, 2, 2]
    assert {(11.0, 0.0), (9.0, 0.0)} < set(copied)  # the small cluster, and one of the other
    near = placed(Copycat(copies=2, scatter=0.01), 6)
    assert 0 < np.abs(near - sent).max() < 0.05


def test_halfway_is_a_crowd_at_one_place_of_the_line_between_two_centres():
    assert np.allclose(placed(Bridge(position=0.3, length=0.0, scatter=0.0), 3), [[3.0, 0.0]] * 3)
    loose = placed(Bridge(length=0.0, scatter=0.5), 4000)
    assert loose.mean(axis=0) == pytest.approx([5.0, 0.0], abs=0.05)
    assert loose.std(axis=0) == pytest.approx(0.5 * SCATTER, rel=0.05)


def test_a_dense_bridge_covers_its_part_of_the_line():
    sent = placed(Bridge(position=0.5, length=0.5, scatter=0.0), 4)
    assert np.allclose(sent[:, 0], [3.5, 4.5, 5.5, 6.5])


def test_a_turned_update_has_the_angle_and_the_length_that_were_asked_for():
    claimed = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    sideways = np.array([[5.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    found = turned(claimed, sideways, 30.0, 0.5)
    assert np.allclose(found[0], [np.sqrt(3) / 2, 0.5])
    assert np.allclose(found[1], [0.75, 1.5 * np.sqrt(3) / 2])
    assert not found[2].any()  # there is nothing to turn at the own minimiser
    measured = agreement(claimed[:2], found[:2])
    assert np.allclose(measured.angles, 30)
    assert np.allclose(measured.ratios, 0.5)
    assert np.allclose(turned(claimed, 7 * claimed, 30.0, 1.0), claimed)


MODEL = np.array([0.0, 2.0])
"""Received by all; the honest clients' mean local model is the origin."""
CLAIMS = [[0.0, -1.0], [3.0, 2.0]]


def in_a_later_round(own=((0.0, 0.0), (0.0, 0.0)), models=False, **others):
    """Honest gradients are MODEL minus the local model, turned left by 0, 20, 20 and 40 degrees."""
    claimed = MODEL - AROUND
    left = claimed @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    radians = np.radians([[0.0], [20.0], [20.0], [40.0]])
    honest = 2 * (np.cos(radians) * claimed + np.sin(radians) * left)
    return federation_view(
        MODEL - honest if models else honest,
        own,
        honest_models=np.tile(MODEL, (4, 1)),
        own_models=np.tile(MODEL, (2, 1)),
        honest_claims=AROUND,
        claims=CLAIMS,
        as_claimed=own,
        work="local" if models else "gradient",
        **others,
    )


def test_tilted_updates_agree_as_well_as_the_worst_honest_one_and_lead_away_from_the_honest():
    view = in_a_later_round()
    sent = Tilt().forge(view)
    found = agreement(MODEL - np.array(CLAIMS), sent)
    assert np.allclose(found.ratios, 2)
    # The model goes against an update. The first claim lies where the honest are, so that there is
    # no side to turn to; the second is turned towards the origin, from (-3, 0) to (0, -2).
    assert np.allclose(found.angles, [0, 40])
    assert np.allclose(sent[1], [-6 * np.cos(np.radians(40)), -6 * np.sin(np.radians(40))])


def test_tilted_updates_of_an_angle_and_a_length_of_their_own():
    sent = Tilt(angle=60.0, length=1.5, direction="around").forge(in_a_later_round())
    found = agreement(MODEL - np.array(CLAIMS), sent)
    assert np.allclose(found.angles, 60)
    assert np.allclose(found.ratios, 3)


def test_as_models_they_are_the_received_one_minus_the_same():
    gradients = Tilt().forge(in_a_later_round())
    assert np.allclose(Tilt().forge(in_a_later_round(models=True)), MODEL - gradients)


def test_patient_ones_first_answer_at_the_median_angle_and_length_to_their_own_side():
    own = [[1.0, 1.0], [-1.0, 1.0]]
    for attack in (Tilt(patience=1, angle=60.0), Tilt(patience=3)):
        sent = attack.forge(in_a_later_round(own))  # round 2
        found = agreement(MODEL - np.array(CLAIMS), sent)
        assert np.allclose(found.angles, 20)
        assert np.allclose(found.ratios, 2)
        assert np.all(np.sign(sent) == np.sign([[1, 1], [-1, 1]]))
    turned_already = Tilt(patience=0, angle=60.0).forge(in_a_later_round(own))
    assert np.allclose(agreement(MODEL - np.array(CLAIMS), turned_already).angles[1], 60)


def test_who_tilts_has_an_honest_local_model_or_one_of_the_cluster_that_it_joins():
    assert placed(Tilt(), 3).tolist() == [[99.0, 99.0]] * 3
    joined = placed(Tilt(cluster=1), 2000)
    assert joined.mean(axis=0) == pytest.approx(SMALL, abs=0.1)
    assert joined.std(axis=0) == pytest.approx(SCATTER, rel=0.1)


@pytest.mark.parametrize("attack", [Imposters(), Copycat(), Bridge(length=0.0)])
def test_one_group_is_enough(attack):
    view = federation_view(AROUND, np.zeros((7, 2)))
    assert np.isfinite(attack.forge(view)).all()


def test_as_claimed_sends_what_the_view_says():
    assert AsClaimed().forge(in_a_later_round([[1.0, 2.0], [3.0, 4.0]])).tolist() == [
        [1, 2],
        [3, 4],
    ]
