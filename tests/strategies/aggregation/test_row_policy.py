"""The one policy for rows that are not finite or wildly scaled, for every aggregator."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tagma.strategies.aggregation import mean, with_pre_aggregators, with_spectral_filter
from tests.strategies.aggregation.aggregators import ALL, EVERY, PRE, ROBUST

DTYPES = (np.float32, np.float64)
LARGEST = {np.float32: np.finfo(np.float32).max, np.float64: 1e150}
"""Entries beyond are not usable."""


def rows_of(m=10, d=6, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(3, 1, size=(m, d)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", EVERY)
def test_a_row_that_is_not_finite_is_removed_and_counted(name, value, dtype):
    rows = rows_of(dtype=dtype)
    rows[2, 1] = rows[7, 5] = value
    honest = np.delete(np.arange(10), [2, 7])
    result, expected = EVERY[name](rows), EVERY[name](rows[honest])
    assert result.removed == 2
    assert expected.removed == 0
    assert np.allclose(result.estimate, expected.estimate, rtol=1e-6)
    assert result.estimate.dtype == dtype
    if result.kept is not None:
        assert result.kept[honest].tolist() == expected.kept.tolist()
        assert not result.kept[[2, 7]].any()
    if result.weights is not None:
        assert np.allclose(result.weights[honest], expected.weights)
        assert result.weights[[2, 7]].tolist() == [0, 0]


MANY = [(name, 10, 200_000) for name in EVERY] + [
    (name, m, d)
    for name in ("mean", "median", "trimmed_mean", "meamed", "krum", "cge")
    for m, d in ((100, 3000), (600, 500))
]


@pytest.mark.slow
@pytest.mark.usefixtures("every_processor")
@pytest.mark.parametrize("centre", [0, 3])
@pytest.mark.parametrize(("name", "m", "d"), MANY)
def test_in_many_entries_they_are_found_wherever_they_are(name, m, d, centre):
    rows = rows_of(m, d, np.float32) + np.float32(centre - 3)
    honest = np.delete(rows, [2, 7], axis=0)
    rows[2, 0], rows[7, -1] = -np.inf, np.nan
    result = EVERY[name](rows)
    assert result.removed == 2
    rtol = 1e-4 if name in WITH_DISTANCES else 1e-6  # whose weights depend on rounding
    assert np.allclose(result.estimate, EVERY[name](honest).estimate, rtol=rtol, atol=1e-6)
    rows[[2, 7]] = 3e38  # finite, but their sums are not
    result = EVERY[name](rows)
    assert result.removed == 0
    assert np.isfinite(result.estimate).all()


EVERY_PLACE = """
import numpy as np
from tagma.strategies.aggregation import median
rows = np.zeros((500, 140), np.float32)
for row in range(500):
    rows[row, 0] = np.inf
    assert median(rows).removed == 1, row
    rows[row, 0] = 0
"""


@pytest.mark.multiprocess
def test_an_infinity_is_found_also_where_numpy_parts_values_without_vector_instructions():
    # Where parting leaves equal values depends on the processor.
    features = "AVX2 FMA3 X86_V3 X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX512_SPR"
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": features, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-W", "ignore", "-c", EVERY_PLACE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PRE)
def test_pre_aggregators_remove_and_count_them_too(name):
    rows = rows_of()
    rows[4] = np.nan
    result, expected = PRE[name](rows), PRE[name](np.delete(rows, 4, axis=0))
    assert result.removed == 1
    assert np.allclose(result.rows, expected.rows)
    assert not result.weights[:, 4].any()
    whole = with_pre_aggregators([PRE[name]], ALL["trimmed_mean"])(rows)
    assert whole.removed == 1
    assert np.allclose(whole.estimate, ALL["trimmed_mean"](expected.rows).estimate)


@pytest.mark.parametrize("name", PRE)
def test_pre_aggregators_find_them_in_many_entries(name):
    rows = rows_of(10, 20_000, np.float32) - np.float32(3)
    honest = np.delete(rows, [2, 7], axis=0)
    rows[2, 0], rows[7, -1] = -np.inf, np.nan
    result = PRE[name](rows)
    assert result.removed == 2
    assert np.allclose(result.rows, PRE[name](honest).rows, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*ROBUST} - {"smea", "mda"}))
@pytest.mark.parametrize("size", [1e30, 1e150])
def test_in_many_entries_of_float64_too(name, size):
    rows = rows_of(12, 70_000) - 3
    rows[5] = size
    result = EVERY[name](rows)
    assert result.removed == 0
    assert np.abs(result.estimate).max() < 10
    rows[5, 69_000] = np.nan
    result = EVERY[name](rows)
    assert result.removed == 1
    assert np.abs(result.estimate).max() < 10


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("name", ALL)
def test_one_or_two_long_rows_are_found_too(name, m):
    rows = rows_of(m, 140_000, np.float32)
    rows[0, 77_777] = np.nan
    if m == 1:
        with pytest.raises(ValueError, match="no row is finite"):
            EVERY[name](rows)
    else:
        result = EVERY[name](rows)
        assert result.removed == 1
        assert np.allclose(result.estimate, rows[1])


def test_rows_that_are_removed_do_not_count_for_what_is_refused():
    rows = rows_of(75, 1000)
    rows[:5] = np.nan  # of 70 rows 14 can be left out, of 75 not 15
    assert ALL["mda"](rows).removed == 5
    rows = rows_of(25, 3000)
    rows[3] = np.nan
    assert ALL["smea"](rows).removed == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROBUST)
def test_a_row_of_astronomic_size_counts_as_any_outlier(name, dtype):
    largest = float(LARGEST[dtype])
    honest = rows_of(12, 30, dtype)
    for size in (1e30, -1e30, 0.9 * largest):
        near = np.vstack([honest, np.full((2, 30), np.copysign(1e4, size), dtype)])
        near = EVERY[name](near).estimate
        rows = np.vstack([honest, np.full((2, 30), size, dtype)])
        result = EVERY[name](rows).estimate
        assert np.allclose(result, near, atol=2e-3), size
        # A rule that chooses one row is as far from the middle as that row.
        assert np.abs(result - 3).max() <= np.abs(honest - 3).max()


WITH_DISTANCES = {
    name: EVERY[name]
    for name in (
        "krum", "multi_krum", "bulyan", "mda", "monna", "caf", "smea", "dnc", "geometric_median",
        "centered_clipping", "iterative_filtering",
    )
} | {
    "nnm, trimmed_mean": with_pre_aggregators([PRE["nnm"]], ALL["trimmed_mean"]),
    "filtered mean": with_spectral_filter(mean),
}  # fmt: skip


SHAPES = [
    (name, *shape)
    for name in WITH_DISTANCES
    for shape in ((10, 3), (10, 30), (30, 4))
    if (name, shape[0]) != ("smea", 30)  # too many subsets
]


@pytest.mark.parametrize("scale", [1e-140, 1e-6, 0.01, 1e140])
@pytest.mark.parametrize(("name", "m", "d"), SHAPES)
def test_a_usable_row_of_any_size_is_never_the_most_central(name, m, d, scale):
    rows = scale * np.random.default_rng(0).normal(size=(m, d))
    rows[:2] = 1e149
    assert np.abs(WITH_DISTANCES[name](rows).estimate).max() <= np.abs(rows[2:]).max()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_far_out_pulls_as_any_outlier_does(dtype):
    honest = (1e-6 * np.random.default_rng(0).normal(size=(9, 4))).astype(dtype)
    byzantine = np.tile(np.array([0, 0, 0, 1], dtype), (3, 1))
    near, far = (
        ALL["geometric_median"](np.vstack([honest, size * byzantine])).estimate
        for size in (dtype(1), dtype(1e30))
    )
    assert np.allclose(near, far, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WITH_DISTANCES)
def test_honest_rows_near_the_largest_size_outvote_byzantine_clients_at_its_negative(name, dtype):
    largest = LARGEST[dtype]
    noise = np.random.default_rng(0).uniform(-0.01, 0.01, size=(10, 6))
    rows = ((0.8 + noise) * largest).astype(dtype)
    rows[:2] = -largest
    assert (WITH_DISTANCES[name](rows).estimate > 0.75 * largest).all()


@pytest.mark.parametrize("m", [2, 4, 9, 10])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EVERY)
def test_usable_rows_never_overflow(name, dtype, m):
    largest = LARGEST[dtype]
    source = np.random.default_rng(1)
    same = np.full((m, 5), largest, dtype)
    opposite = same * np.where(np.arange(m) % 2, 1, -1).astype(dtype)[:, None]
    mixed = (source.uniform(-1, 1, size=(m, 5)) * largest).astype(dtype)
    half = m // 2
    few = np.vstack([mixed[:half], source.normal(size=(m - half, 5)).astype(dtype)])
    for rows in (same, opposite, mixed, few):
        result = EVERY[name](rows).estimate
        assert np.isfinite(result).all()
        if name not in ALL:  # what shortens or reverses rows may leave their range
            continue
        slack = 1e-6 * np.abs(rows).max(axis=0)
        assert (result / 2 <= rows.max(axis=0) / 2 + slack).all()
        assert (result / 2 >= rows.min(axis=0) / 2 - slack).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_very_small_rows_are_treated_as_at_any_scale(name, dtype):
    rows = np.random.default_rng(0).integers(0, 1000, size=(9, 3)).astype(dtype)
    scale = dtype(2.0**-141 if dtype == np.float32 else 2.0**-500)
    expected, found = EVERY[name](rows), EVERY[name](rows * scale)
    assert np.allclose(found.estimate / scale, expected.estimate, atol=0.5)
    if expected.kept is not None:
        assert found.kept.tolist() == expected.kept.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 1e-40])
def test_the_geometric_median_of_three_numbers_is_the_middle_one_at_every_scale(size, dtype):
    rows = np.array([[0.0], [1.0], [3.0]]).astype(dtype) * dtype(size)
    assert ALL["geometric_median"](rows).estimate == pytest.approx(rows[1], rel=1e-5)


@pytest.mark.usefixtures("every_processor")
@pytest.mark.parametrize("shape", [(500, 140), (501, 140), (600, 120), (140, 500)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
def test_one_entry_that_is_not_finite_is_found_in_any_place(name, value, shape):
    source = np.random.default_rng(0)
    rows = source.normal(size=shape).astype(np.float32)
    for row, column in source.integers(0, (shape[0], 100), size=(25, 2)):
        before, rows[row, column] = rows[row, column], value
        assert EVERY[name](rows).removed == 1, (row, column)
        rows[row, column] = before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(set(ALL) - {"signguard", "cge"}))
def test_tiny_rows_are_not_lost(name, dtype):
    tiny = 1e-26 if dtype == np.float32 else 1e-140
    rows = rows_of(10, 4, np.float32).astype(dtype)
    expected = EVERY[name](rows).estimate
    assert np.allclose(EVERY[name](rows * dtype(tiny)).estimate / dtype(tiny), expected, rtol=1e-5)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,), (2, 2, 2)])
def test_rows_without_entries_or_of_another_shape_are_an_error(name, shape):
    with pytest.raises(ValueError, match="shape"):
        EVERY[name](np.zeros(shape))


@pytest.mark.parametrize("name", EVERY)
def test_no_finite_row_at_all_is_an_error(name):
    with pytest.raises(ValueError, match="no row is finite"):
        EVERY[name](np.full((3, 2), np.nan))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("m", [1, 2, 3, 7, 8])
def test_equal_rows_and_a_single_row_are_their_own_aggregate(name, m, dtype):
    row = np.array([1.5, -2.25, 0.0, 1e5], dtype)
    assert np.allclose(EVERY[name](np.tile(row, (m, 1))).estimate, row, rtol=1e-6)


@pytest.mark.parametrize("name", EVERY)
def test_precision_and_memory_order_do_not_matter(name):
    rows = rows_of(12, 40)
    expected = EVERY[name](rows).estimate
    assert np.allclose(EVERY[name](np.asfortranarray(rows)).estimate, expected)
    assert np.allclose(EVERY[name](np.repeat(rows, 3, axis=1)[:, ::3]).estimate, expected)
    single = EVERY[name](rows.astype(np.float32)).estimate
    assert single.dtype == np.float32
    assert np.allclose(single, expected, rtol=1e-4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", [*EVERY, *PRE])
def test_inputs_are_left_as_they_were(name, order):
    rows = np.asarray(rows_of(), order=order)
    rows[3] = 1e30
    before = rows.copy()
    result = (EVERY | PRE)[name](rows)
    if name in PRE:
        result.rows[:] = 0
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("name", ["mean", "median", "krum"])
@pytest.mark.parametrize(
    "rows",
    [
        np.ones((3, 2), complex),
        np.array([["1", "2"], ["3", "4"]]),
        np.ma.masked_equal(np.arange(6.0).reshape(3, 2), 2),
        np.full((3, 2), None),
    ],
    ids=["complex", "strings", "masked", "objects"],
)
def test_what_is_not_real_numbers_is_an_error(name, rows):
    with pytest.raises(ValueError, match="real numbers"):
        EVERY[name](rows)


def test_whole_numbers_are_computed_as_floats():
    assert ALL["trimmed_mean"](np.array([[0], [1], [2], [3], [100]])).estimate.tolist() == [2.0]
