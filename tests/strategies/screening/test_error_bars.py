import numpy as np
import pytest
from scipy.stats import f

from tagma.strategies.screening.error_bars import error_bound


def test_two_numbers_by_hand():
    # The halves are the two rows themselves: their difference, halved, is 1.
    assert error_bound(np.array([[0.0], [2.0]])) == pytest.approx(np.sqrt(f.ppf(0.95, 1, 1)))


@pytest.mark.parametrize(("size", "dim"), [(5, 1), (8, 100), (15, 30), (200, 3)])
@pytest.mark.parametrize("uneven", [False, True])
def test_the_bound_covers_the_error_of_the_mean_as_often_as_it_says(size, dim, uneven):
    source = np.random.default_rng(size)
    scales = 0.9 ** np.arange(dim) if uneven else np.ones(dim)
    covered = []
    for _ in range(400):
        rows = source.normal(size=(size, dim)) * scales
        covered.append(np.linalg.norm(rows.mean(axis=0)) <= error_bound(rows))
    assert 0.9 <= np.mean(covered) <= 0.99


def test_the_bound_is_in_the_units_of_the_rows():
    rows = np.random.default_rng(1).normal(size=(12, 6))
    assert error_bound(1000 * rows + 7) == pytest.approx(1000 * error_bound(rows))


def test_identical_rows_have_no_error_and_one_row_no_bound():
    assert error_bound(np.ones((4, 3))) == 0
    assert error_bound(np.ones((1, 3))) is None


def test_equal_weights_change_nothing_and_those_of_weight_0_are_not_there():
    rows = np.random.default_rng(3).normal(size=(9, 5))
    assert error_bound(rows, weights=np.full(9, 0.3)) == pytest.approx(error_bound(rows))
    weights = np.where(np.arange(9) < 6, 2.0, 0.0)
    assert error_bound(rows, weights=weights) == pytest.approx(error_bound(rows[:6]))
    assert error_bound(rows, weights=np.eye(9)[0]) is None


def test_the_bound_of_a_weighted_mean_covers_clients_of_unequal_noise():
    noise = np.where(np.arange(20) < 10, 1.0, 4.0)
    covered = []
    for seed in range(200):
        rows = noise[:, None] * np.random.default_rng(seed).normal(size=(20, 30))
        weights = noise**-2.0
        centre = weights @ rows / weights.sum()
        covered.append(np.linalg.norm(centre) <= error_bound(rows, weights=weights))
    assert np.mean(covered) >= 0.9
