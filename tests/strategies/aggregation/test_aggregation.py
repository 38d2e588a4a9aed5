import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import trim_mean

from tagma.strategies.aggregation import mean, median, trimmed_mean

ROWS = np.array([[1.0, 10.0], [2.0, -500.0], [3.0, 30.0], [4.0, 40.0], [1e12, 50.0]])
AGGREGATORS = {
    "mean": mean,
    "median": median,
    "trimmed_mean": lambda rows: trimmed_mean(rows, beta=0.2),
}
matrices = arrays(
    np.float64,
    st.tuples(st.integers(1, 9), st.integers(1, 4)),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


def test_trimmed_mean_by_hand():
    assert np.array_equal(trimmed_mean(ROWS, beta=0.2).estimate, [3.0, 80 / 3])
    assert np.array_equal(trimmed_mean(ROWS, beta=0.4).estimate, [3.0, 30.0])
    assert np.array_equal(trimmed_mean(ROWS, beta=0.19).estimate, mean(ROWS).estimate)


def test_median_and_mean_by_hand():
    assert np.array_equal(median(ROWS).estimate, [3.0, 30.0])
    assert np.array_equal(median(ROWS[:4]).estimate, [2.5, 20.0])
    assert np.allclose(mean(ROWS[:4]).estimate, [2.5, -105.0])


def test_one_huge_value_does_not_cancel_the_others():
    rows = np.array([[0.1], [0.2], [0.3], [1e17]])
    assert trimmed_mean(rows, beta=0.25).estimate[0] == pytest.approx(0.25, rel=1e-15)


@given(matrices, st.floats(0, 0.49))
def test_trimmed_mean_agrees_with_scipy(rows, beta):
    assert np.allclose(trimmed_mean(rows, beta=beta).estimate, trim_mean(rows, beta, axis=0))


@pytest.mark.parametrize("name", AGGREGATORS)
@given(rows=matrices, shift=st.floats(-1e3, 1e3), scale=st.floats(-10, 10), data=st.data())
def test_order_translation_and_scale(name, rows, shift, scale, data):
    aggregate = AGGREGATORS[name]
    result = aggregate(rows).estimate
    order = data.draw(st.permutations(range(len(rows))))
    assert np.allclose(aggregate(rows[order]).estimate, result)
    assert np.allclose(aggregate(scale * rows + shift).estimate, scale * result + shift, atol=1e-6)


@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
def test_a_byzantine_client_cannot_leave_the_range_of_the_honest(name):
    honest = np.random.default_rng(0).normal(size=(8, 3))
    for lie in (1e100, -1e100):
        rows = np.vstack([honest, np.full((1, 3), lie)])
        result = AGGREGATORS[name](rows).estimate
        assert (honest.min(axis=0) <= result).all()
        assert (result <= honest.max(axis=0)).all()


@pytest.mark.parametrize("name", AGGREGATORS)
def test_inputs_are_left_as_they_were(name):
    rows = ROWS.copy()
    AGGREGATORS[name](rows)
    assert np.array_equal(rows, ROWS)


@given(matrices)
def test_median_agrees_with_the_standard_library(rows):
    assert np.allclose(median(rows).estimate, [statistics.median(column) for column in rows.T])


@given(matrices)
def test_mean_agrees_with_an_exact_sum(rows):
    assert np.allclose(mean(rows).estimate, [statistics.fmean(column) for column in rows.T])
