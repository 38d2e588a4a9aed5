"""Shares of whole numbers, in every place that counts Byzantine clients or trims."""

import numpy as np
import pytest

from tagma.counts import ceil_of, floor_of
from tagma.strategies import aggregation
from tagma.strategies.numerics.byzantine_count import byzantine_count

ODD = [(0.29, 100, 29), (0.57, 100, 57), (0.58, 50, 29), (0.07, 100, 7), (0.1, 30, 3)]
"""share * number is a whole number on paper, but not always in floating point."""


@pytest.mark.parametrize(("share", "number", "exact"), ODD)
def test_a_share_of_a_number_is_counted_as_on_paper(share, number, exact):
    assert floor_of(share, number) == exact
    assert ceil_of(share, number) == exact


@pytest.mark.parametrize("number", [1, 2, 7, 10, 100, 1000, 12345])
def test_all_percentages_are_counted_as_on_paper(number):
    for percent in range(101):
        assert floor_of(percent / 100, number) == percent * number // 100
        assert ceil_of(percent / 100, number) == -(-percent * number // 100)


def test_a_share_between_two_whole_numbers_is_rounded():
    assert floor_of(0.299, 100) == 29
    assert ceil_of(0.291, 100) == 30
    assert floor_of(0.0, 5) == ceil_of(0.0, 5) == 0


def test_29_percent_of_100_byzantine_clients_are_29():
    assert byzantine_count(0.29, 100, 49) == 29


def test_a_trimmed_mean_of_29_percent_drops_29_of_100():
    rows = np.concatenate([np.full(29, -1e6), np.zeros(42), np.full(29, 1e9)])[:, None]
    assert aggregation.trimmed_mean(rows, beta=0.29).estimate.tolist() == [0.0]


@pytest.mark.parametrize("name", ["multi_krum", "cge"])
def test_rules_that_choose_leave_out_29_of_100(name):
    rows = np.random.default_rng(0).normal(size=(100, 3))
    assert getattr(aggregation, name)(rows, fraction=0.29).kept.sum() == 71


def test_the_filter_may_drop_29_of_100():
    rows = np.random.default_rng(0).normal(size=(100, 3))
    rows[:40] += 1e3 * np.arange(1, 41)[:, None]
    filtered = aggregation.spectral_filter(rows, sigma=1.0, factor=1.3, removable=0.29)
    assert filtered.stopped == "removal limit"
    assert filtered.kept.sum() == 71
