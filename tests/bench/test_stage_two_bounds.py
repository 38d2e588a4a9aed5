from math import log, sqrt

import numpy as np
import pytest

from tagma.bench.experiments.clustering_trial import theory_of
from tagma.bench.experiments.k_cluster_bound import k_cluster_bound_trial
from tagma.bench.experiments.stage_two_bounds import (
    k_cluster_floor,
    k_cluster_recursion,
    k_cluster_snr,
    trimmed_surplus,
    two_cluster_recursion,
    two_cluster_snr,
    two_cluster_start,
)
from tagma.bench.experiments.two_cluster_bound import ITERATIONS, two_cluster_bound_trial


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


def test_a_cluster_of_byzantine_clients_alone_has_no_surplus():
    assert trimmed_surplus([0.9, 0.2], [1.0, 0.5]) == pytest.approx(0.4)
    assert trimmed_surplus([0.9], [1.0]) == 0


def test_the_start_that_two_clusters_may_have_by_hand():
    assert two_cluster_start(r=10.0, honest=100) == pytest.approx(0.5 - 0.256 - 0.05)


def test_the_k_cluster_recursion_by_hand():
    """r_1 = 576: eps = 1/2, eps^2 r_1 = 144, (1 - eps) / 2 = 1/4."""
    bound = k_cluster_recursion(
        0.1, r_1=576.0, floor=0.05, clusters=4, spread=1.5, byzantine=0.02, steps=1
    )
    first = 3 / 576 + 0.02 + 1.5 * 0.1
    wrong = 2 / 144**2 + (28 * first / 144) ** 2 + 0.05
    assert bound.misclustered == pytest.approx([0.1, wrong])
    near = 3 / 576 * sqrt(4 * wrong) + 2 * wrong * first
    assert near < 1.5 * wrong
    assert bound.centre_error == pytest.approx([first, 3 / 576 + 0.02 + near])
    assert bound.admissible


@pytest.mark.parametrize(("start", "r_1"), [(0.6, 576.0), (0.2, 576.0), (0.1, 150.0)])
def test_conditions_that_fail_are_told(start, r_1):
    bound = k_cluster_recursion(
        start, r_1=r_1, floor=0.01, clusters=2, spread=1.5, byzantine=0.0, steps=1
    )
    assert not bound.admissible


def test_r_1_and_the_floor_of_local_models_by_hand():
    """Centres 0 and 10; deviations -1 and 1 in each: sigma^2 = 4 / (4 - 2), gamma_1 = 1/2."""
    models = np.array([[-1.0], [1.0], [9.0], [11.0]])
    found = theory_of(models, np.array([5, 5, 7, 7]))
    assert found["r_1"] == pytest.approx(10 / sqrt(2) * sqrt(0.5 / (1 + 2 * 1 / 4)))
    assert found["floor"] == pytest.approx(sqrt(5 * 2 * log(4) / (0.25 * 4)))
    assert theory_of(models, np.zeros(4, dtype=int)) == {"r_1": None, "floor": None}


@pytest.mark.slow
def test_a_strong_signal_starts_within_the_theorem_and_a_weak_one_does_not():
    strong, weak = (two_cluster_bound_trial(seed=1, signal=signal) for signal in (16.0, 3.0))
    assert strong["A_0"] < strong["allowed start"]
    assert weak["allowed start"] < weak["A_0"]
    assert weak[f"A_{ITERATIONS}"] > 0
    for trial in (strong, weak):
        assert all(trial[f"A_{s}"] <= trial[f"bound_{s}"] for s in range(ITERATIONS + 1))


def test_k_clusters_stay_below_their_bound_unless_the_ball_is_too_small():
    wide, narrow = (
        k_cluster_bound_trial(seed=1, radius=radius, wrong=0.02, points=100_000)
        for radius in (2.0, 1.2)
    )
    assert wide["admissible"]
    assert wide["alpha'"] > 0.02
    assert wide["G^U_4"] < wide["bound_4"]
    assert wide["Lambda_4"] < wide["bound of Lambda_4"]
    assert narrow["G^U_4"] > narrow["bound_4"]
