"""Sorting networks: by the zero-one principle, what sorts zeros and ones sorts everything."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from tagma.strategies.numerics.kernels.column_trimmed_mean import column_trimmed_mean
from tagma.strategies.numerics.kernels.selection_network import program
from tagma.strategies.numerics.row_blocks import NotFiniteError, Rows


def run(steps, columns):
    lines = [*columns.copy(), *np.full((steps.lines - len(columns), columns.shape[1]), -7)]
    for minimum, a, b, out in steps.operations:
        lines[out] = (np.minimum if minimum else np.maximum)(lines[a], lines[b])
    return np.array([lines[line] for line in steps.middle])


@pytest.mark.parametrize("m", range(1, 15))
def test_the_middle_holds_the_middle_of_all_zeros_and_ones(m):
    columns = np.array(list(product([0, 1], repeat=m))).T
    for dropped in range((m + 1) // 2):
        middle = run(program(m, dropped), columns)
        expected = np.sort(columns, axis=0)[dropped : m - dropped]
        assert np.array_equal(np.sort(middle, axis=0), expected)


@pytest.mark.parametrize("m", [*range(15, 26), 33, 50, 64, 80])
def test_larger_networks_find_the_middle_of_random_columns(m):
    columns = np.random.default_rng(m).integers(0, m, size=(m, 500))
    for dropped in range((m + 1) // 2):
        middle = run(program(m, dropped), columns)
        expected = np.sort(columns, axis=0)[dropped : m - dropped]
        assert np.array_equal(np.sort(middle, axis=0), expected)


@pytest.mark.parametrize(("dropped", "steps"), [(2, 102), (9, 124)])
def test_only_what_the_middle_needs_is_left_of_a_network(dropped, steps):
    # Parberry's network for 20 rows has 97 comparators, 194 minima and maxima.
    assert len(program(20, dropped).operations) == steps


def test_no_step_writes_to_a_row():
    for m, dropped in ((9, 4), (20, 2), (31, 3)):
        assert all(step.out >= m for step in program(m, dropped).operations)


@pytest.mark.usefixtures("every_processor")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 2, 5, 20, 29, 41, 81, 101, 200, 499, 500, 1001])
@pytest.mark.parametrize("d", [3, 2500])
def test_every_formulation_agrees_with_sorting(m, d, dtype):
    rows = np.random.default_rng(m).normal(size=(m, d)).astype(dtype)
    ordered = np.sort(rows.astype(np.float64), axis=0)
    for dropped in {0, m // 10, (m - 1) // 2}:
        expected = ordered[dropped : m - dropped].mean(axis=0)
        for order in "CF":
            given = np.asarray(rows, order=order)
            assert np.allclose(column_trimmed_mean(Rows(given), dropped), expected, atol=1e-5)
            assert np.array_equal(given, rows)


@pytest.mark.parametrize(("m", "dim"), [(90, 100_000), (20, 430_000)])
def test_two_threads_give_the_same_numbers_as_one(monkeypatch, m, dim):
    rows = Rows(np.random.default_rng(0).normal(size=(m, dim)).astype(np.float32))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = column_trimmed_mean(rows, 9)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert np.array_equal(column_trimmed_mean(rows, 9), one)


@pytest.mark.parametrize(("m", "dim"), [(90, 3000), (20, 50_000)])
def test_callers_on_several_threads_do_not_disturb_each_other(m, dim):
    inputs = [np.random.default_rng(seed).normal(size=(m, dim)) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda rows: column_trimmed_mean(Rows(rows), 2), inputs))
    for rows, estimate in zip(inputs, found, strict=True):
        assert np.array_equal(estimate, column_trimmed_mean(Rows(rows), 2))


def test_what_is_not_finite_is_seen_in_every_block(monkeypatch):
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        rows = np.random.default_rng(0).normal(size=(20, 430_000)).astype(np.float32)
        for column in (0, 33_000, 429_999):
            rows[13, column] = -np.inf
            with pytest.raises(NotFiniteError):
                column_trimmed_mean(Rows(rows, checked=False), 9)
            rows[13, column] = 0
        column_trimmed_mean(Rows(rows, checked=False), 9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("m", [*range(1, 26), 40, 80])
def test_what_is_not_finite_is_never_lost_in_a_network(m, value, dtype):
    rows = np.random.default_rng(m).normal(size=(m, 2100)).astype(dtype)
    for dropped in {0, 1, m // 10, (m - 1) // 2}:
        if 2 * dropped >= m:
            continue
        column_trimmed_mean(Rows(rows, checked=False), dropped)
        for row in range(m):
            spoilt = rows.copy()
            spoilt[row, (7 * row) % 2100] = value
            with pytest.raises(NotFiniteError):
                column_trimmed_mean(Rows(spoilt, checked=False), dropped)
        spoilt = rows.copy()
        spoilt[:, 5] = [value, *[-value] * (m - 1)]
        with pytest.raises(NotFiniteError):
            column_trimmed_mean(Rows(spoilt, checked=False), dropped)
