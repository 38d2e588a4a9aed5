"""The half of the updates that agree with most others."""

import numpy as np
import pytest

from tagma.strategies.aggregation import central_half


def test_who_points_elsewhere_is_left_out_and_the_others_are_cut_to_the_median_length():
    rows = np.array([[1.0, 0.0], [0.0, -1.0], [8.0, 0.0]])
    found = central_half(rows)
    assert found.kept.tolist() == [True, False, True]
    assert found.estimate == pytest.approx([1.0, 0.0])


def test_weights_are_for_those_who_are_kept():
    rows = np.array([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]])
    found = central_half(rows, weights=np.array([0.3, 0.6, 0.1]))
    assert found.kept.tolist() == [True, False, True]
    assert found.estimate == pytest.approx([0.75 + 0.25 * 0.6, 0.25 * 0.8])


def test_a_minority_of_one_mind_is_not_kept_though_no_group_is_denser():
    random = np.random.default_rng(0)
    wanted, backdoor = np.eye(400)[:2]
    rows = random.normal(size=(40, 400)) / 10 + 2 * wanted
    rows[:15] += 12 * (backdoor - wanted / 6)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    alike = unit @ unit.T
    assert alike[:15, :15].min() > alike[15:, 15:][~np.eye(25, dtype=bool)].max()
    found = central_half(rows)
    assert not found.kept[:15].any()
    assert found.kept.sum() == 21
    assert abs(found.estimate @ backdoor) < 0.1


def test_of_two_both_count():
    assert central_half(np.array([[1.0], [-1.0]])).kept.all()
