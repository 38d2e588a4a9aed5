"""Which way to the middle of a column is taken."""

import numpy as np
import pytest

from tagma.strategies.numerics.kernels import crossovers
from tagma.strategies.numerics.kernels.crossovers import Crossovers


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"SIMD Extensions": {"found": ["X86_V3", "X86_V4"]}}, crossovers._WITH_AVX512),
        ({"SIMD Extensions": {"found": ["AVX2", "AVX512_SKX"]}}, crossovers._WITH_AVX512),
        ({"SIMD Extensions": {"baseline": ["X86_V3", "X86_V4"]}}, crossovers._WITH_AVX512),
        ({"SIMD Extensions": {"baseline": ["X86_V2"], "found": ["X86_V3"]}}, crossovers._WITHOUT),
        ({"SIMD Extensions": {"found": ["NEON"]}}, crossovers._WITHOUT),
        ({}, crossovers._WITHOUT),
    ],
)
def test_the_kind_of_processor_is_what_numpy_found(monkeypatch, config, expected):
    monkeypatch.setattr(np, "show_config", lambda mode: config)
    assert crossovers._of_this_processor() == expected


def test_a_median_needs_one_partition_and_a_trimmed_mean_two():
    ours = Crossovers(network=5, once=10, twice=20)
    assert [ours.partitions(m, (m - 1) // 2) for m in (9, 10, 11)] == [False, True, True]
    assert [ours.partitions(m, 2) for m in (10, 19, 20)] == [False, False, True]


def test_where_nothing_is_left_out_nothing_is_sorted():
    assert Crossovers(network=5, once=10, twice=20).partitions(7, 0)
