"""Blocks of rows, turned into columns, however they lie in memory."""

import numpy as np
import pytest

from tagma.strategies.aggregation import median, trimmed_mean
from tagma.strategies.numerics.kernels.transpose import transpose


def blocks(dtype):
    rows = np.random.default_rng(0).normal(size=(700, 4096)).astype(dtype)
    return {
        "2^k apart": rows[:, 100:140],
        "2^k apart, few": rows[:3, :70],
        "in one piece": np.ascontiguousarray(rows[:, :41]),
        "column by column": np.asfortranarray(rows[:, :41]),
        "backwards": rows[::-1, 40::-1],
        "every other": rows[::2, :64:2],
        "all the same": np.broadcast_to(rows[0, :50], (300, 50)),
        "one row": rows[:1],
        "one column": rows[:, :1],
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", blocks(np.float32))
def test_columns_are_those_of_the_block(name, dtype):
    block = blocks(dtype)[name]
    columns = np.full(block.shape[::-1], np.nan, dtype)
    transpose(block, columns)
    assert np.array_equal(columns, block.T)


@pytest.mark.parametrize("m", [70, 600])
@pytest.mark.parametrize("dim", [1000, 1024, 4096])
def test_statistics_do_not_depend_on_how_far_rows_are_apart(m, dim):
    rows = np.random.default_rng(0).normal(size=(m, dim))
    apart = np.empty((m, dim + 5))[:, :dim]
    apart[:] = rows
    assert np.allclose(median(rows).estimate, np.median(rows, axis=0))
    assert np.array_equal(median(rows).estimate, median(apart).estimate)
    assert np.array_equal(
        trimmed_mean(rows, beta=0.1).estimate, trimmed_mean(apart, beta=0.1).estimate
    )
