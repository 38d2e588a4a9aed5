"""Mistakes that other libraries of robust aggregators make: each has a test here by name."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagma.errors import SettingError
from tagma.strategies import aggregation as ours
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.rule_choice import aggregator_of
from tests.strategies.aggregation.aggregators import EVERY, PRE


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", EVERY)
def test_nan_or_inf_from_two_of_ten_clients_makes_no_result_non_finite(name, value):
    rows = np.random.default_rng(0).normal(size=(10, 20))
    rows[:2] = value
    result = EVERY[name](rows)
    assert np.isfinite(result.estimate).all()
    assert result.removed == 2


def test_a_trimmed_mean_is_not_the_sum_minus_extremes():
    rows = np.array([[0.1], [0.2], [0.3], [1e12]], np.float32)
    result = ours.trimmed_mean(rows, beta=0.25).estimate[0]
    assert result == pytest.approx(0.25, rel=1e-6)


def test_distances_of_clients_that_differ_by_1e_4_do_not_come_from_an_uncentred_gram_matrix():
    source = np.random.default_rng(1)
    common = source.normal(size=100_000)
    rows = (common + 1e-4 * source.normal(size=(12, 100_000))).astype(np.float32)
    exact = cdist(rows.astype(np.float64), rows.astype(np.float64))
    others = ~np.eye(12, dtype=bool)
    found = np.sqrt(Geometry(Rows(rows)).pairwise())
    assert (np.abs(found - exact)[others] / exact[others]).max() <= 1e-6


@pytest.mark.parametrize("name", ["trimmed_mean", "krum", "nnm"])
def test_unknown_parameters_are_not_dropped_silently(name):
    with pytest.raises(SettingError, match="no such setting"):
        aggregator_of({
            "_target_": f"tagma.strategies.aggregation.{name}", "beta": 0.1, "fraction": 0.1,
        })  # fmt: skip


@pytest.mark.parametrize("name", ["clipping", "arc"])
def test_clipping_and_arc_do_not_change_their_input(name):
    rows = 100 * np.random.default_rng(2).normal(size=(10, 5))
    before = rows.copy()
    assert not np.array_equal(PRE[name](rows).rows, rows)
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("name", [*EVERY, *PRE])
def test_the_same_input_gives_the_same_answer(name):
    rows = np.random.default_rng(3).normal(size=(12, 30))
    first, second = ((EVERY | PRE)[name](rows) for _ in range(2))
    key = "rows" if name in PRE else "estimate"
    assert np.array_equal(getattr(first, key), getattr(second, key))


def test_the_median_of_0_1_2_3_is_one_and_a_half():
    assert ours.median(np.array([[0.0], [1.0], [2.0], [3.0]])).estimate.tolist() == [1.5]


def test_a_trimmed_mean_sorts_values_and_not_clients():
    rows = np.array([[1.0, 9.0], [2.0, 8.0], [9.0, 1.0]])
    assert ours.trimmed_mean(rows, beta=0.34).estimate.tolist() == [2.0, 8.0]
