"""Clipping at the usual length, remembered where few rows come."""

import numpy as np
import pytest

from tagma.strategies.aggregation import mean
from tagma.strategies.aggregation.pre.with_running_clip import with_running_clip


def test_many_rows_are_cut_to_their_own_median_length():
    rows = np.array([[1.0], [1], [1], [2], [2], [2], [-100]])
    found = with_running_clip(mean)(rows, memory={"lengths": np.full(50, 9.0)})
    assert found.estimate.tolist() == pytest.approx([(3 + 6 - 2) / 7])
    assert found.memory["lengths"].tolist() == [9.0] * 43 + [1, 1, 1, 2, 2, 2, 100]


def test_few_rows_are_cut_to_the_median_of_those_before():
    clipped = with_running_clip(mean)
    memory = None
    for _ in range(4):
        memory = clipped(np.array([[1.0], [1.0]]), memory=memory).memory
    found = clipped(np.array([[1.0], [-100.0]]), memory=memory)
    assert found.estimate.tolist() == [0]


def test_the_memory_of_the_rule_itself_is_kept_beside():
    def counting(rows, *, memory=None):
        found = mean(rows)
        count = np.zeros(1) if memory is None else memory["count"]
        return type(found)(found.estimate, memory={"count": count + 1})

    clipped = with_running_clip(counting)
    memory = clipped(np.ones((2, 1))).memory
    assert clipped(np.ones((2, 1)), memory=memory).memory["count"] == 2


def test_a_memory_that_is_none_is_refused():
    with pytest.raises(ValueError, match="lengths"):
        with_running_clip(mean)(np.ones((2, 1)), memory={"lengths": np.full(51, 1.0)})


def test_rows_of_length_zero_stay():
    assert with_running_clip(mean)(np.zeros((3, 2))).estimate.tolist() == [0, 0]
