from functools import partial

import numpy as np

from tagma.strategies.aggregation import Aggregate, mean, median, trimmed_mean, with_spectral_filter

ROWS = np.random.default_rng(0).normal(size=(40, 60))


def test_honest_rows_are_all_kept():
    result = with_spectral_filter(mean)(ROWS)
    assert result.kept.all()
    assert np.allclose(result.estimate, ROWS.mean(axis=0))


def test_rows_that_stretch_the_others_are_dropped_before_any_aggregation():
    rows = ROWS.copy()
    rows[:10] += 4
    for aggregate in (mean, median, partial(trimmed_mean, beta=0.1)):
        result = with_spectral_filter(aggregate)(rows)
        assert not result.kept[:10].any()
        assert np.allclose(result.estimate, aggregate(rows[result.kept]).estimate)


def test_no_more_than_a_third_is_dropped():
    rows = ROWS.copy()
    rows[:19] += 100 * np.random.default_rng(1).normal(size=(19, 60))
    assert with_spectral_filter(mean)(rows).kept.sum() >= 40 - 14


def test_a_few_rows_pass_as_they_are():
    rows = np.array([[0.0], [1.0], [1e6]])
    assert np.allclose(with_spectral_filter(mean)(rows).estimate, rows.mean(axis=0))


def test_a_row_that_is_not_finite_is_removed_and_counted():
    rows = ROWS.copy()
    rows[3, 5] = np.nan
    result = with_spectral_filter(mean)(rows)
    assert result.removed == 1
    assert not result.kept[3]
    assert np.allclose(result.estimate, np.delete(ROWS, 3, axis=0).mean(axis=0))


def test_an_aggregator_of_ones_own_is_given_an_array():
    def first(rows):
        assert isinstance(rows, np.ndarray)
        return Aggregate(rows[0])

    assert np.array_equal(with_spectral_filter(first)(ROWS).estimate, ROWS[0])
