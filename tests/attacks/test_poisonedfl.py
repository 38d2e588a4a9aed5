"""PoisonedFL by hand: one direction, magnitudes from how the model moved, a scale that adapts."""

import numpy as np
import pytest

from tagma.attacks.local.poisonedfl import PoisonedFL
from tests.attacks.views import local_view

HONEST = np.array([9.0, 9.0])
ATTACK = PoisonedFL(scale=2.0, every=2)
SIGNS = ATTACK._signs(2)


def noted(model, looked, sent, scale, rounds):
    return np.array([*model, *looked, *sent, scale, rounds], dtype=float)


def test_it_is_honest_in_the_first_round_and_with_local_models():
    assert ATTACK.forge(HONEST, local_view(work="local")).tolist() == [9.0, 9.0]
    view = local_view(work="local_model", past=[noted([0, 0], [0, 0], [0, 0], 2, 0)])
    assert ATTACK.forge(HONEST, view).tolist() == [9.0, 9.0]


def test_magnitudes_are_those_of_what_moved_the_model_beside_what_was_sent():
    # g = (3, 4), ||g|| = 5; sent (5, 0): v = |(3, 4) - (5, 0)| = (2, 4), of length sqrt(20).
    past = [noted([1, 1], [1, 1], [5, 0], 2.0, 0)]
    sent = ATTACK.forge(HONEST, local_view(model=[4.0, 5.0], past=past, work="local"))
    expected = np.array([4, 5]) + 2 * 5 * np.array([2, 4]) / np.sqrt(20) * SIGNS
    np.testing.assert_allclose(sent, expected)


def test_a_gradient_points_the_other_way():
    past = [noted([1, 1], [1, 1], [0, 0], 2.0, 0)]
    sent = ATTACK.forge(HONEST, local_view(model=[4.0, 5.0], past=past))
    np.testing.assert_allclose(sent, -2 * np.array([3, 4]) * SIGNS)


def test_all_have_the_same_direction_and_another_number_gives_another():
    assert set(np.abs(SIGNS)) == {1.0}
    assert (PoisonedFL()._signs(50) == PoisonedFL()._signs(50)).all()
    assert (PoisonedFL(direction=1)._signs(50) != PoisonedFL()._signs(50)).any()


@pytest.mark.parametrize(("moves", "scale"), [(1.0, 2.0), (-1.0, 1.4)])
def test_the_scale_falls_if_the_model_did_not_follow_for_some_rounds(moves, scale):
    signs = ATTACK._signs(20)
    start, sent = np.zeros(20), np.ones(20)
    note = noted(start, start, sent, 2.0, 1)
    view = local_view(model=moves * signs, past=[note], work="local")
    after = ATTACK.note(np.zeros(20), sent, view)
    assert after[-2:].tolist() == [pytest.approx(scale), 0.0]
    assert (after[20:40] == moves * signs).all(), "the next look begins here"


def test_the_scale_has_a_least_value_and_is_the_first_while_it_sleeps():
    signs = ATTACK._signs(20)
    note = noted(np.zeros(20), np.zeros(20), np.ones(20), 0.6, 1)
    view = local_view(model=-signs, past=[note], work="local")
    assert ATTACK.note(np.zeros(20), np.ones(20), view)[-2] == 0.5
    assert ATTACK.note(np.ones(20), np.ones(20), view)[-2] == 2.0
