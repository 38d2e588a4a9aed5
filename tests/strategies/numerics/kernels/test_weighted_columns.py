"""Weighted medians and trimmed means against plain formulations, column by column."""

from fractions import Fraction

import numpy as np
import pytest

from tagma.strategies.numerics.kernels import weighted_columns
from tagma.strategies.numerics.row_blocks import Rows


def plain_trimmed_mean(column, counts, trimmed):
    """With exact arithmetic, for whole weights."""
    total = sum(counts)
    low, high = trimmed * total, (1 - trimmed) * total
    passed, result = Fraction(0), Fraction(0)
    for value, count in sorted(zip(column, counts, strict=True)):
        inside = min(passed + count, high) - max(passed, low)
        result += max(inside, 0) * Fraction(float(value))
        passed += count
    return float(result / (high - low))


def plain_median(column, counts):
    return np.median(np.repeat(column, counts))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "d"), [(2, 5), (9, 700), (40, 130), (1500, 70)])
def test_every_block_of_columns_is_as_the_definition_says(m, d, dtype):
    source = np.random.default_rng(m)
    rows = source.normal(size=(m, d)).astype(dtype).round(1)  # with ties
    counts = source.integers(1, 9, size=m)
    weights = counts / counts.sum()
    some = source.choice(d, 5)
    atol = 1e-6 if dtype == np.float32 else 1e-12
    found = weighted_columns.weighted_median(Rows(rows), weights)
    assert found.dtype == dtype
    assert np.allclose(found[some], [plain_median(rows[:, j], counts) for j in some], atol=atol)
    dropped = Fraction(m // 3, m)
    found = weighted_columns.weighted_trimmed_mean(Rows(rows), weights, float(dropped))
    expected = [plain_trimmed_mean(rows[:, j], counts, dropped) for j in some]
    assert found.dtype == dtype
    assert np.allclose(found[some], expected, atol=atol)


def test_nothing_of_a_huge_value_beyond_the_edge_is_left_by_rounding():
    source = np.random.default_rng(0)
    for _ in range(200):
        counts = source.integers(1, 50, size=10)
        counts[0] = counts[1:].sum()  # so that one half is cut off at the end of a value ...
        weights = counts / counts.sum()
        rows = source.normal(size=(10, 1))
        rows[1:] = 1e140
        found = weighted_columns.weighted_mean_near_median(Rows(rows), weights, 0.5)
        assert found[0] in (pytest.approx(rows[0, 0]), 1e140)
        order = source.permutation(10)
        edge = weights[order][-3:].sum()  # ... or where three rows end
        rows = source.normal(size=(10, 1))
        rows[order[-3:]] = 1e140
        if edge < 0.5:
            found = weighted_columns.weighted_trimmed_mean(Rows(rows), weights, edge)
            assert abs(found[0]) < 10


def test_memory_stays_bounded_by_blocks(monkeypatch):
    widths = []
    by_columns = weighted_columns.by_columns

    def watched(rows, width, make):
        widths.append(width)
        return by_columns(rows, width, make)

    monkeypatch.setattr(weighted_columns, "by_columns", watched)
    rows = np.random.default_rng(0).normal(size=(20, 50_000)).astype(np.float32)
    weighted_columns.weighted_median(Rows(rows), (np.arange(20) + 1) / 210)
    assert widths[0] * 20 * 8 <= 2**20
