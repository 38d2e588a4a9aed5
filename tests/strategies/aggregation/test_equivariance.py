"""Aggregators follow their rows: reordered, moved, scaled, rotated."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ortho_group

from tests.strategies.aggregation.aggregators import ALL, FROM_ZERO, ROTATING

generic = st.builds(
    lambda seed, m, d: np.random.default_rng(seed).normal(size=(m, d)).round(6),
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 12),
)
"""Rows without ties: where two choices are equally good, rules that choose take the first."""


# Of several sets with the same diameter, mda takes any, and of groups of the same size signguard;
# that the diameter is least is tested against brute force.
@pytest.mark.parametrize("name", sorted(set(ALL) - {"mda", "signguard"}))
@settings(max_examples=25)
@given(rows=generic, data=st.data())
def test_the_order_of_the_rows_does_not_matter(name, rows, data):
    assume(len(rows) > 2)  # two rows are equally good
    assume(rows.shape[1] > 1 or name != "geometric_median")  # on a line there can be many
    # Seen from the middle between two rows, these are equally far out.
    assume(len(rows) % 2 or name != "iterative_filtering")
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    result, moved = ALL[name](rows), ALL[name](rows[order])
    assert np.allclose(moved.estimate, result.estimate, atol=1e-5)
    for first, second in ((result.kept, moved.kept), (result.weights, moved.weights)):
        if first is not None:
            assert np.allclose(second, first[order], atol=1e-4)


@pytest.mark.parametrize("name", sorted(set(ALL) - FROM_ZERO))
@settings(max_examples=25)
@given(rows=generic, shift=st.floats(-1e3, 1e3))
def test_the_aggregate_moves_with_the_rows(name, rows, shift):
    assert np.allclose(ALL[name](rows + shift).estimate, ALL[name](rows).estimate + shift)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(rows=generic, power=st.integers(-30, 30), sign=st.sampled_from([-1, 1]))
def test_the_aggregate_scales_with_the_rows(name, rows, power, sign):
    # The filter tells the two ends of a direction apart by the order of the values only.
    scale = 2.0**power if name == "iterative_filtering" else sign * 2.0**power
    result = ALL[name](rows).estimate
    assert np.allclose(ALL[name](scale * rows).estimate / scale, result, atol=1e-6)


@pytest.mark.parametrize("name", sorted(ROTATING))
def test_the_aggregate_turns_with_the_rows(name):
    rows = np.random.default_rng(1).normal(size=(9, 5))
    rotation = ortho_group.rvs(5, random_state=2)
    assert np.allclose(
        ALL[name](rows @ rotation).estimate, ALL[name](rows).estimate @ rotation, atol=1e-6
    )


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(rows=generic)
def test_single_precision_agrees_with_double(name, rows):
    # Of an even number of values, everything between the middle two is a geometric median.
    assume(name != "geometric_median" or rows.shape[1] > 1)
    # A choice between nearly equal rows may differ; then both are good choices.
    single = ALL[name](rows.astype(np.float32)).estimate
    double = ALL[name](rows.astype(np.float32).astype(np.float64)).estimate
    assert np.allclose(single, double, atol=1e-4)


tied = st.integers(1, 9).flatmap(
    lambda m: arrays(np.float64, (m, 2), elements=st.integers(0, 2).map(float))
)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(rows=tied)
def test_ties_give_an_aggregate_in_the_range_of_the_rows(name, rows):
    result = ALL[name](rows).estimate
    # SignGuard shortens rows, towards 0.
    lowest = 0 if name == "signguard" else rows.min(axis=0)
    assert ((result >= lowest - 1e-12) & (result <= rows.max(axis=0) + 1e-12)).all()


NO_AVERAGE = {"bulyan", "meamed", "median", "signguard", "trimmed_mean"}
"""Every coordinate comes from other rows, or rows are shortened: no weights give the estimate."""
CHOOSING = {
    "mean", "krum", "multi_krum", "mda", "monna", "smea", "cge", "dnc", "iterative_filtering",
}  # fmt: skip
"""The estimate is the plain mean of the rows that are kept."""
ROWS = np.random.default_rng(3).normal(size=(11, 4))


@pytest.mark.parametrize("name", sorted(set(ALL) - NO_AVERAGE))
def test_the_weights_of_the_rows_give_the_estimate(name):
    result = ALL[name](ROWS)
    assert result.weights.sum() == pytest.approx(1)
    assert np.allclose(result.weights @ ROWS, result.estimate)


@pytest.mark.parametrize("name", sorted(NO_AVERAGE))
def test_rules_that_are_no_average_of_rows_state_no_weights(name):
    assert ALL[name](ROWS).weights is None


@pytest.mark.parametrize("name", sorted(CHOOSING))
def test_the_mean_of_the_kept_rows_is_the_estimate(name):
    result = ALL[name](ROWS)
    assert np.allclose(ROWS[result.kept].mean(axis=0), result.estimate)


@pytest.mark.parametrize("name", sorted(set(ALL) - CHOOSING - {"bulyan", "signguard"}))
def test_rules_that_choose_no_rows_do_not_say_which_are_kept(name):
    assert ALL[name](ROWS).kept is None


@pytest.mark.parametrize("name", ["bulyan", "signguard"])
def test_the_estimate_is_in_the_range_of_the_kept_rows(name):
    rows = ROWS.copy()
    rows[4] = 50  # far out and without a negative entry
    result = ALL[name](rows)
    assert not result.kept[4]
    kept = np.vstack(
        [rows[result.kept], np.zeros((int(name == "signguard"), 4))]
    )  # it shortens rows
    assert ((kept.min(axis=0) <= result.estimate) & (result.estimate <= kept.max(axis=0))).all()
