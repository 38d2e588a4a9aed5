"""Which rows are the nearest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagma.strategies.numerics.nearest_rows import nearest_of_each


@given(st.data(), st.integers(1, 12), st.sampled_from([2, 1000]))
def test_the_nearest_of_each_are_those_that_come_first_in_order(data, m, values):
    numbers = st.lists(st.integers(0, values), min_size=m * m, max_size=m * m)
    squared = np.array(data.draw(numbers), float).reshape(m, m)
    number = data.draw(st.integers(1, m))
    expected = np.zeros((m, m), dtype=bool)
    first = np.argsort(squared, axis=1, kind="stable")[:, :number]
    np.put_along_axis(expected, first, True, axis=1)
    assert np.array_equal(nearest_of_each(squared, number), expected)


def test_of_equal_rows_as_many_count_as_of_others():
    near = nearest_of_each(np.zeros((5, 5)), 3)
    assert near.tolist() == [[True, True, True, False, False]] * 5
