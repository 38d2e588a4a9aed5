import numpy as np
import pytest

from tagma.strategies.screening.confinement import Confinement
from tagma.strategies.screening.error_bars import error_bound

CENTRE = np.zeros(4)
INWARD, OUTWARD = np.tile([1.0, 0, 0, 0], (10, 1)), np.tile([-1.0, 0, 0, 0], (10, 1))
"""Gradients point back from where a client wants to go."""


def bounds(*radii):
    return Confinement(np.array(radii), np.zeros(len(radii)))


def test_the_radius_is_that_of_the_error_bound_with_a_little_room():
    rows = np.random.default_rng(0).normal(size=(12, 4))
    labels, counts = np.repeat([0, 1], [11, 1]), np.arange(12) != 3
    found = Confinement.around(rows, labels, counts, None, 2)
    assert found.radii[0] == pytest.approx(1.1 * error_bound(np.delete(rows[:11], 3, axis=0)))
    assert found.radii[1] == np.inf


def test_within_its_radius_a_model_moves_freely():
    model, after = bounds(1.0).confine(0, CENTRE, np.array([0.9, 0, 0, 0]), INWARD)
    assert model.tolist() == [0.9, 0, 0, 0]
    assert after.pull.tolist() == [0.9]
    assert not after.at_border[0]


def test_a_minority_that_leans_is_held_at_the_border_and_seen():
    leaning = np.concatenate([INWARD[:6], 50 * OUTWARD[:4]])
    model, after = bounds(9.0, 1.0).confine(1, CENTRE, np.array([1.1, 0, 0, 0]), leaning)
    assert model.tolist() == [1, 0, 0, 0]
    assert after.radii.tolist() == [9, 1]
    assert after.at_border.tolist() == [False, True]
    assert not after.torn.any()


def test_where_a_minority_leads_the_bound_shrinks_and_that_is_seen():
    leading = np.concatenate([INWARD[:6], 50 * OUTWARD[:4]])
    model, after = bounds(9.0, 1.0).confine(1, CENTRE, np.array([3.0, 0, 0, 0]), leading)
    assert model.tolist() == [0.5, 0, 0, 0]
    assert after.radii.tolist() == [9, 0.5]
    assert after.torn.tolist() == [False, True]
    model, after = bounds(1.0).confine(0, CENTRE, np.array([3.0, 0, 0, 0]), leading[-3:])
    assert model.tolist() == [1, 0, 0, 0]


def test_the_bound_grows_if_two_thirds_want_to_go_farther():
    wanting = np.concatenate([INWARD[:3], OUTWARD[:7]])
    model, after = bounds(1.0).confine(0, CENTRE, np.array([1.2, 0, 0, 0]), wanting)
    assert model.tolist() == [1.2, 0, 0, 0]
    assert after.radii.tolist() == [1.2]
    model, after = bounds(1.0).confine(0, CENTRE, np.array([9.0, 0, 0, 0]), wanting)
    assert model.tolist() == [1.5, 0, 0, 0]


def test_few_replies_are_no_evidence():
    model, _ = bounds(1.0).confine(0, CENTRE, np.array([1.2, 0, 0, 0]), OUTWARD[:3])
    assert model.tolist() == [1, 0, 0, 0]


def test_precision_stays_what_it_was():
    model, _ = bounds(1.0).confine(0, CENTRE, np.array([3, 0, 0, 0], dtype=np.float32), INWARD)
    assert model.dtype == np.float32
