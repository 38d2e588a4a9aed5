from math import log, sqrt

import pytest

from bench.experiments.bounds import (
    k_cluster_floor,
    k_cluster_snr,
    trimmed_surplus,
    two_cluster_recursion,
    two_cluster_snr,
)


def test_signal_to_noise_ratios_by_hand():
    assert two_cluster_snr(signal=6.0, dim=10, honest=30) == pytest.approx(6 / 2)
    snr = k_cluster_snr(gap=10.0, sigma=2.0, smallest=0.25, clusters=3, dim=10, honest=10)
    assert snr == pytest.approx(5 * sqrt(0.25 / 4))


def test_the_recursion_by_hand():
    first, second, third = two_cluster_recursion(0.3, r=10.0, honest=10_000, steps=2)
    assert first == 0.3
    last_term = sqrt(4 * log(10_000) / 10_000)
    assert second == pytest.approx(0.3 * 0.38 + 0.02 + last_term)
    assert third == pytest.approx(second * (second + 0.08) + 0.02 + last_term)


def test_a_share_is_never_beyond_one():
    assert two_cluster_recursion(0.5, r=1.0, honest=10, steps=3)[-1] == 1


def test_the_papers_own_setting_has_an_empty_bound():
    assert k_cluster_floor(smallest=0.2, clusters=5, honest=70) == pytest.approx(6.16, abs=0.01)


def test_the_surplus_is_that_of_the_worst_cluster():
    assert trimmed_surplus([0.3, 0.1], [0.25, 0.5]) == pytest.approx(0.4)
