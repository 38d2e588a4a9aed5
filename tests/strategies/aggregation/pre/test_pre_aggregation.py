"""Pre-aggregators by hand, and behind them an aggregator."""

from functools import partial

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.strategies.aggregation import (
    Aggregate,
    arc,
    bucketing,
    clipping,
    nnm,
    trimmed_mean,
    with_pre_aggregators,
)
from tagma.strategies.rule_choice import aggregator_of
from tests.strategies.aggregation.aggregators import ALL, PRE

TRIMMED = {"_target_": "tagma.strategies.aggregation.trimmed_mean.trimmed_mean", "beta": 0.2}


def test_nnm_replaces_a_row_by_the_mean_of_its_nearest():
    rows = np.array([[0.0], [1.0], [2.0], [100.0]])
    result = nnm(rows, fraction=0.25)
    assert np.allclose(result.rows, [[1.0], [1.0], [1.0], [103 / 3]])
    assert np.allclose(result.weights @ rows, result.rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("before", PRE)
def test_new_rows_can_be_written_into_memory_that_is_there(before, dtype):
    rows = np.random.default_rng(0).normal(size=(10, 20_000)).astype(dtype)
    rows[3] = np.nan
    expected = PRE[before](rows)
    memory = np.full_like(expected.rows, np.nan)
    assert PRE[before](rows).into(memory) is memory
    assert np.array_equal(memory, expected.rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("m", [2, 7, 15, 24, 44, 53])
def test_averages_of_very_large_numbers_are_finite(m, sign, dtype):
    largest = dtype(3e38 if dtype == np.float32 else 1e150)
    rows = np.full((m, 5), sign * largest)
    for before in ("nnm", "bucketing", "arc"):
        assert np.allclose(PRE[before](rows).rows / largest, sign, rtol=1e-6)
    nnm(rows, fraction=0.2).into(rows)
    assert np.allclose(rows / largest, sign, rtol=1e-6)


@pytest.mark.parametrize("before", ["nnm", "arc", "clipping"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("removed", [0, 2])
def test_new_rows_may_replace_the_old(before, order, removed):
    rows = np.array(np.random.default_rng(0).normal(size=(10, 20_000)), order=order)
    rows[3 : 3 + removed] = np.nan
    expected = PRE[before](rows).rows
    left = rows[: 10 - removed]
    PRE[before](rows).into(left)
    assert np.allclose(left, expected)


def test_memory_that_overlaps_with_the_old_rows_in_another_way_is_refused():
    both = np.random.default_rng(0).normal(size=(10, 101))
    with pytest.raises(ValueError, match="overlaps"):
        nnm(both[:, :-1], fraction=0.2).into(both[:, 1:])


@pytest.mark.parametrize(
    "memory", [np.empty((9, 3)), np.empty((10, 4)), np.empty((10, 3), np.float32)]
)
def test_memory_of_another_shape_or_precision_is_refused(memory):
    with pytest.raises(ValueError, match="an array of shape \\(10, 3\\) and float64 is needed"):
        nnm(np.ones((10, 3)), fraction=0.2).into(memory)


def test_bucketing_averages_every_row_once():
    rows = np.arange(14.0).reshape(7, 2)
    result = bucketing(rows, size=3, seed=1)
    assert result.rows.shape == (3, 2)
    assert np.allclose(result.weights.sum(axis=1), 1)
    assert sorted((result.weights > 0).sum(axis=1)) == [1, 3, 3]
    assert (result.weights > 0).sum(axis=0).tolist() == [1] * 7
    assert not np.array_equal(result.weights, bucketing(rows, size=3, seed=2).weights)


def test_clipping_shortens_what_is_too_long():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert np.allclose(clipping(rows, radius=1.0).rows, [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])


def test_arc_cuts_the_longest_to_the_length_of_the_next():
    rows = np.array([[1.0], [-2.0], [3.0], [-4.0], [50.0]])
    # f = 1: floor(2 * 1 * 4 / 5) = 1 row is cut.
    assert np.allclose(arc(rows, fraction=0.2).rows, [[1.0], [-2.0], [3.0], [-4.0], [4.0]])
    assert np.allclose(arc(rows, fraction=0.0).rows, rows)


def test_the_longest_rows_of_all_are_clipped_to_what_they_should_be():
    equal = np.full((9, 5), 1e150)
    assert np.array_equal(arc(equal, fraction=0.2).rows, equal)
    assert np.allclose(clipping(equal, radius=2.0).rows, 2 / np.sqrt(5))


@pytest.mark.parametrize("before", PRE)
@pytest.mark.parametrize("name", ALL)
def test_reading_mixed_rows_block_by_block_is_the_same_as_making_them_first(name, before):
    rows = np.random.default_rng(0).normal(size=(10, 2100))
    together = with_pre_aggregators([PRE[before]], ALL[name])(rows)
    apart = ALL[name](PRE[before](rows).rows)
    assert np.allclose(together.estimate, apart.estimate, atol=1e-6)
    if together.weights is not None:
        assert np.allclose(together.weights @ rows, together.estimate)


def test_several_act_in_their_order():
    rows = np.random.default_rng(1).normal(size=(9, 4)) * 5
    steps = [PRE["clipping"], PRE["nnm"], PRE["bucketing"]]
    by_hand = rows
    for step in steps:
        by_hand = step(by_hand).rows
    expected = trimmed_mean(by_hand, beta=0.2).estimate
    assert np.allclose(with_pre_aggregators(steps, ALL["trimmed_mean"])(rows).estimate, expected)


def test_rows_that_are_not_finite_are_removed_before_several_of_them():
    rows = np.random.default_rng(1).normal(size=(9, 4))
    spoilt = np.insert(rows, 3, np.nan, axis=0)
    both = with_pre_aggregators([PRE["bucketing"], PRE["nnm"]], ALL["mean"])
    assert np.allclose(both(spoilt).estimate, both(rows).estimate)
    assert both(spoilt).weights[3] == 0


def test_an_aggregator_of_ones_own_gets_an_array():
    def midrange(updates):
        return Aggregate((updates.min(axis=0) + updates.max(axis=0)) / 2)

    rows = np.array([[0.0], [1.0], [2.0], [100.0]])
    result = with_pre_aggregators([partial(nnm, fraction=0.25)], midrange)(rows)
    assert np.allclose(result.estimate, (1 + 103 / 3) / 2)


def test_nnm_makes_honest_rows_more_alike_under_attack():
    source = np.random.default_rng(2)
    rows = source.normal(size=(20, 50))
    rows[:4] += 3
    mixed = nnm(rows, fraction=0.2).rows
    assert mixed[4:].std(axis=0).mean() < 0.5 * rows[4:].std(axis=0).mean()


def test_the_configuration_names_them_with_or_without_settings():
    rows = np.random.default_rng(3).normal(size=(10, 6))
    plain = aggregator_of(TRIMMED | {"pre": ["nnm"]})(rows)
    assert np.allclose(
        plain.estimate, with_pre_aggregators([PRE["nnm"]], ALL["trimmed_mean"])(rows).estimate
    )
    entry = {"nnm": {"fraction": 0.4}}
    other = aggregator_of(TRIMMED | {"pre": [entry, "arc"]})(rows)
    steps = [partial(nnm, fraction=0.4), PRE["arc"]]
    assert np.allclose(
        other.estimate, with_pre_aggregators(steps, ALL["trimmed_mean"])(rows).estimate
    )


@pytest.mark.parametrize(
    ("pre", "message"),
    [
        (["krum"], "known: nnm, bucketing, clipping, arc"),
        ("nnm", "must be a list"),
        ([3], "must be a name"),
        ([{"nnm": {"fraction": 0.7}}], "less than 0.5"),
        ([{"clipping": {"radios": 1}}], "did you mean radius"),
    ],
)
def test_mistakes_are_one_line_that_names_the_setting(pre, message):
    with pytest.raises(SettingError, match=f"aggregation.pre.*{message}"):
        aggregator_of(TRIMMED | {"pre": pre})


def test_a_fraction_that_nobody_gives_is_asked_for():
    median = {"_target_": "tagma.strategies.aggregation.median.median"}
    with pytest.raises(SettingError, match=r"needs a fraction.*pre=\[{nnm: {fraction: 0.2}}\]"):
        aggregator_of(median | {"pre": ["nnm"]})
    aggregator_of(median | {"pre": [{"nnm": {"fraction": 0.2}}, "clipping"]})


def test_a_federation_can_use_them(run_small):
    metrics = run_small("aggregation.pre=[nnm,clipping]", "attack=none", "optimiser.step=0.5")
    assert metrics["estimation_error"] < 0.5


@pytest.mark.parametrize(("name", "m"), [("mda", 80), ("smea", 30)])
def test_exact_rules_refuse_what_would_take_too_long(name, m):
    with pytest.raises(SettingError, match=f"aggregation.fraction=0.2.*{name}"):
        ALL[name](np.zeros((m, 2)))
