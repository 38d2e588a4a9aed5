"""What comes with the rows: weights, clients, a reference and a memory."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import tagma
from tagma.errors import SettingError
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.strategies import aggregation as ours
from tagma.strategies.aggregation import Aggregate, with_pre_aggregators, with_spectral_filter
from tagma.strategies.aggregation.rule import as_aggregator, rule
from tagma.strategies.aggregation.side_information import NAMES
from tagma.strategies.rule_choice import aggregator_of
from tests.strategies.aggregation.aggregators import ALL, EVERY, PRE

HERE = __name__
COMPOSED = EVERY | {
    "filtered mean": with_spectral_filter(ours.mean),
    "filtered median": with_spectral_filter(ours.median),
    "nnm, trimmed_mean": with_pre_aggregators([PRE["nnm"]], ALL["trimmed_mean"]),
    "arc, clipping, mean": with_pre_aggregators([PRE["arc"], PRE["clipping"]], ours.mean),
}
USING = {"monna", "centered_clipping", "fltrust", "foolsgold", "fldetector"}
"""More than weights."""
PER_COORDINATE = {"median", "trimmed_mean", "meamed"}
CHOOSING = {
    "krum", "multi_krum", "mda", "monna", "smea", "cge", "dnc", "iterative_filtering",
}  # fmt: skip

seeds = st.integers(0, 10**6)
positive = st.lists(st.floats(0.01, 100), min_size=4, max_size=11).map(np.array)


def rows_of(m, d=3, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(3, 1, size=(m, d)).astype(dtype)


def nearly_equal(m):
    """Not equal, so the weighted form is used, but the same to nine digits."""
    return 1 + 1e-12 * np.arange(m)


def agree(first, second, atol=1e-6):
    assert np.allclose(first.estimate, second.estimate, atol=atol)
    for one, other in ((first.weights, second.weights), (first.kept, second.kept)):
        assert (one is None) == (other is None)
        if one is not None:
            assert np.allclose(one, other, atol=atol)


@pytest.mark.parametrize("m", [1, 2, 3, 8, 10, 11])
@pytest.mark.parametrize("name", COMPOSED)
def test_equal_weights_are_the_same_as_none(name, m):
    rows = rows_of(m)
    expected = COMPOSED[name](rows)
    found = COMPOSED[name](rows, weights=np.full(m, 7.3))
    assert np.array_equal(found.estimate, expected.estimate)
    agree(COMPOSED[name](rows, weights=nearly_equal(m)), expected)


@pytest.mark.parametrize("name", COMPOSED)
@settings(max_examples=15)
@given(weights=positive, scale=st.floats(1e-3, 1e3), seed=seeds)
def test_the_unit_of_the_weights_does_not_matter(name, weights, scale, seed):
    rows = rows_of(len(weights), seed=seed)
    agree(COMPOSED[name](rows, weights=scale * weights), COMPOSED[name](rows, weights=weights))


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("name", COMPOSED)
def test_a_row_of_weight_0_is_as_if_it_were_not_there(name, removed):
    rows, weights = rows_of(11, seed=1), np.arange(11.0) + 1
    rows[7] = 50
    weights[[2, 7]] = 0
    left = np.setdiff1d(np.arange(11), [2, 7])
    if removed:
        rows[4] = np.nan
    found = COMPOSED[name](rows, weights=weights)
    agree(
        Aggregate(
            found.estimate,
            kept=None if found.kept is None else found.kept[left],
            weights=None if found.weights is None else found.weights[left],
        ),
        COMPOSED[name](rows[left], weights=weights[left]),
    )
    assert found.removed == int(removed)
    for stated in (found.kept, found.weights):
        assert stated is None or not stated[[2, 7]].any()


@pytest.mark.parametrize("name", ["mean", "median", "geometric_median"])
@settings(max_examples=25)
@given(counts=st.lists(st.integers(1, 5), min_size=1, max_size=9), seed=seeds)
def test_a_whole_weight_is_so_many_copies(name, counts, seed):
    rows = rows_of(len(counts), seed=seed)
    repeated = ALL[name](np.repeat(rows, counts, axis=0)).estimate
    assert np.allclose(ALL[name](rows, weights=np.array(counts)).estimate, repeated, atol=1e-5)


@settings(max_examples=50)
@given(counts=st.lists(st.integers(1, 5), min_size=4, max_size=4), seed=seeds)
def test_so_it_is_for_a_trimmed_mean_where_as_much_is_trimmed(counts, seed):
    counts = np.array(counts)
    counts[0] += -counts.sum() % 4  # a quarter of the rows and of their weight are whole numbers
    rows = rows_of(4, seed=seed)
    expected = ours.trimmed_mean(np.repeat(rows, counts, axis=0), beta=0.25).estimate
    assert np.allclose(ours.trimmed_mean(rows, beta=0.25, weights=counts).estimate, expected)


def test_weighted_rules_by_hand():
    rows, weights = np.array([[4.0], [1.0], [2.0], [1e9]]), np.array([3, 4, 1, 2])
    assert ours.mean(rows[:3], weights=weights[:3]).estimate == [18 / 8]
    assert ours.median(rows, weights=weights).estimate == [3.0]  # half of the weight ends at 2
    assert ours.median(rows, weights=[3, 4.5, 1, 2]).estimate == [2.0]
    # A quarter is 2.5: of 10, there remain 1.5 at 1, 1 at 2 and 2.5 at 4.
    assert ours.trimmed_mean(rows, beta=0.25, weights=weights).estimate == pytest.approx(13.5 / 5)
    # Three quarters is 7.5; the median is 3, as near to 2 as to 4.
    assert ours.meamed(rows, fraction=0.25, weights=weights).estimate == pytest.approx(17.5 / 7.5)


@settings(max_examples=20)
@given(weights=positive, seed=seeds)
def test_the_weighted_geometric_median_has_the_least_weighted_sum_of_distances(weights, seed):
    rows = rows_of(len(weights), seed=seed)
    assume(weights.max() < weights.sum() / 2)

    def total(place):
        return weights @ np.linalg.norm(rows - place, axis=1)

    found = ours.geometric_median(rows, weights=weights)
    assert total(found.estimate) <= minimize(total, rows.mean(axis=0)).fun * (1 + 1e-6)
    assert np.allclose(found.weights @ rows, found.estimate)


def test_a_row_with_more_than_half_of_the_weight_is_the_geometric_median():
    rows = rows_of(9)
    weights = np.where(np.arange(9) == 4, 9.0, 1.0)
    assert np.allclose(ours.geometric_median(rows, weights=weights).estimate, rows[4], atol=1e-6)


def test_the_weighted_geometric_median_of_many_rows_needs_no_gram_matrix(monkeypatch):
    rows = rows_of(600, 500) - 3
    weights = np.random.default_rng(1).integers(1, 4, size=600)
    expected = ours.geometric_median(np.repeat(rows, weights, axis=0)).estimate
    module = import_module("tagma.strategies.aggregation.geometric_median")
    monkeypatch.setattr(module, "Geometry", None)
    assert np.allclose(ours.geometric_median(rows, weights=weights).estimate, expected, atol=1e-6)


@pytest.mark.parametrize("name", sorted(CHOOSING))
def test_weights_do_not_decide_which_rows_are_chosen_but_how_they_count(name):
    rows, weights = rows_of(12, seed=2), np.arange(12.0) + 1
    weights[3] = 1e6
    found = ALL[name](rows, weights=weights)
    assert np.array_equal(found.kept, ALL[name](rows).kept)
    expected = np.average(rows[found.kept], axis=0, weights=weights[found.kept])
    assert np.allclose(found.estimate, expected)
    assert np.allclose(found.weights @ rows, found.estimate)
    assert found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["caf", "signguard", "bulyan"])
def test_nor_do_they_in_rules_that_do_more_than_choose(name):
    rows, weights = rows_of(13, seed=3), np.arange(13.0) + 1
    plain, found = ALL[name](rows), ALL[name](rows, weights=weights)
    if name == "caf":
        own = plain.weights * weights
        assert np.allclose(found.weights, own / own.sum())
        assert np.allclose(found.weights @ rows, found.estimate)
        return
    assert np.array_equal(found.kept, plain.kept)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if name == "signguard":
        rows = rows * np.minimum(1, np.median(lengths) / lengths)
        expected = np.average(rows[found.kept], axis=0, weights=weights[found.kept])
    else:
        expected = ours.meamed(rows[found.kept], fraction=4 / 9, weights=weights[found.kept])
        expected = expected.estimate
    assert np.allclose(found.estimate, expected)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"mean"}))
def test_a_byzantine_row_that_claims_a_tenth_of_the_weight_does_no_harm(name):
    rows, weights = rows_of(12, seed=4), np.full(12, 10.0) + np.arange(12)
    rows[5], weights[5] = 1e30, 20
    assert np.abs(ALL[name](rows, weights=weights).estimate - 3).max() < 5


@pytest.mark.parametrize("name", sorted(CHOOSING | {"caf", "signguard", "centered_clipping"}))
def test_no_claim_makes_the_rows_of_others_vanish(name):
    rows, weights = rows_of(12, seed=4), 1e-30 * (np.arange(12.0) + 1)
    rows[5], weights[5] = 1e4, 1e308
    found = ALL[name](rows, weights=weights)
    assert np.isfinite(found.estimate).all()
    if name != "centered_clipping":  # in which a step is never longer than what is usual
        assert np.abs(found.estimate - 3).max() < 5


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(4), r"weights: shape \(5,\) is needed, not \(4,\)"),
        (np.ones((5, 1)), r"weights: shape \(5,\) is needed"),
        (2.0, r"weights: shape \(5,\) is needed, not \(\)"),
        ([1, 1, 1, 1, np.nan], "weights: must be finite and at least 0"),
        ([1, 1, 1, 1, np.inf], "weights: must be finite and at least 0"),
        ([1, 1, 1, 1, -1e-9], "weights: must be finite and at least 0"),
        (np.zeros(5), "not all of them 0"),
        (["1"] * 5, "weights: numbers are needed"),
        (np.ones(5, complex), "weights: numbers are needed"),
        (np.ma.masked_array(np.ones(5), [1, 0, 0, 0, 0]), "weights: numbers are needed"),
    ],
)
@pytest.mark.parametrize("name", COMPOSED)
def test_weights_that_are_none_are_one_clear_line(name, weights, message):
    with pytest.raises(ValueError, match=message) as error:
        COMPOSED[name](rows_of(5), weights=weights)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", COMPOSED)
def test_if_only_rows_that_are_not_finite_have_weight_that_is_said(name):
    rows = rows_of(5)
    rows[2] = np.nan
    with pytest.raises(ValueError, match="weights: no row that is finite has one above 0"):
        COMPOSED[name](rows, weights=[0, 0, 3, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COMPOSED)
def test_the_estimate_has_the_precision_of_the_rows(name, dtype):
    rows = rows_of(11, 40, dtype=dtype)
    weights = np.random.default_rng(1).uniform(1, 9, size=11)
    found = COMPOSED[name](rows, weights=weights, reference=rows[1].astype(np.float64))
    assert found.estimate.dtype == dtype
    double = COMPOSED[name](rows.astype(np.float64), weights=weights, reference=rows[1])
    assert np.allclose(found.estimate, double.estimate, atol=1e-4)
    again = COMPOSED[name](rows, weights=weights, memory=found.memory)
    assert again.estimate.dtype == dtype


@pytest.mark.parametrize("name", ["mean", *sorted(PER_COORDINATE)])
@pytest.mark.parametrize("shape", [(9, 3000), (150, 700), (600, 70)])
def test_a_row_that_is_not_finite_takes_its_weight_with_it(name, shape):
    rows = rows_of(*shape, dtype=np.float32)
    weights = np.random.default_rng(1).uniform(1, 9, size=shape[0])
    left = np.delete(np.arange(shape[0]), [1, 4])
    rows[1, 5], rows[4, -1] = np.nan, -np.inf
    weights[1] = 1e-200  # its share alone would not show it
    found = ALL[name](rows, weights=weights)
    assert found.removed == 2
    expected = ALL[name](rows[left], weights=weights[left]).estimate
    assert np.allclose(found.estimate, expected, rtol=1e-5)


def test_an_entry_beyond_the_largest_is_not_hidden_by_a_small_weight():
    rows = rows_of(9, 10_000)
    rows[2, 77] = 1e200
    assert ours.mean(rows, weights=np.where(np.arange(9) == 2, 1e-100, 1)).removed == 1


def test_all_may_be_given_to_every_aggregator_and_what_it_does_not_use_changes_nothing():
    rows = rows_of(11)
    unused = {"clients": np.arange(11), "memory": {"other": rows}, "reference": np.full(3, 1e6)}
    for name in sorted(set(COMPOSED) - USING):
        found = COMPOSED[name](rows, weights=None, **unused)
        assert np.array_equal(found.estimate, COMPOSED[name](rows).estimate), name
        assert found.memory is None


def test_monna_takes_the_rows_nearest_to_what_the_server_trusts():
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [50.0], [51.0], [52.0]])
    far = ours.monna(rows, fraction=0.45, reference=[51.2])
    assert far.kept.tolist() == [False, False, False, True, True, True, True]
    near = ours.monna(rows, fraction=0.45, reference=[1.0], weights=[1, 1, 1, 5, 1, 1, 1])
    assert near.estimate == pytest.approx((0 + 1 + 2 + 15) / 8)


@pytest.mark.parametrize("reference", [np.ones(2), np.array([1, np.nan, 1]), "abc"])
def test_a_reference_of_another_shape_or_not_finite_is_refused(reference):
    with pytest.raises(ValueError, match="reference: "):
        ours.monna(rows_of(5), fraction=0.2, reference=reference)


def clipped_steps(rows, start, radius, steps, weights):
    v = start
    for _ in range(steps):
        apart = rows - v
        lengths = np.linalg.norm(apart, axis=1)
        reach = np.median(lengths) if radius is None else radius
        v = v + weights @ (apart * np.minimum(1, reach / lengths)[:, None])
    return v


from_previous = partial(ours.centered_clipping, start="previous")


@pytest.mark.parametrize("radius", [None, 0.5])
@pytest.mark.parametrize("offset", [0.0, 4.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centered_clipping_goes_on_from_where_it_was(dtype, offset, radius):
    rows = rows_of(9, 5000, seed=5, dtype=dtype) - dtype(3)
    start = (offset + 0.1 * np.random.default_rng(6).normal(size=5000)).astype(dtype)
    weights = np.arange(9.0) + 1
    for stated, shares in ((weights, weights / weights.sum()), (None, np.full(9, 1 / 9))):
        found = from_previous(
            rows, radius=radius, steps=4, weights=stated, memory={"centre": start}
        )
        double = clipped_steps(rows.astype(float), start.astype(float), radius, 4, shares)
        rtol = 1e-9 if dtype == np.float64 else 1e-5
        assert np.allclose(found.estimate, double, rtol=rtol, atol=rtol * (1 + offset))
        assert found.weights is None
        assert np.array_equal(found.memory["centre"], found.estimate)


def test_the_memory_of_centered_clipping_is_its_last_aggregate():
    first = from_previous(rows_of(9), radius=0.1, steps=1)
    assert np.array_equal(first.memory["centre"], first.estimate)
    moved = rows_of(9) + 100
    second = from_previous(moved, radius=0.1, steps=1, memory=first.memory)
    assert np.linalg.norm(second.estimate - first.estimate) <= 0.1 * (1 + 1e-9)


def test_a_byzantine_row_moves_it_from_its_memory_by_its_share_of_the_radius_only():
    rows, start = rows_of(9), np.full(3, 3.0)
    given = {"radius": 0.5, "steps": 1, "memory": {"centre": start}}
    honest = from_previous(np.vstack([rows, start]), **given).estimate
    for size in (1e3, 1e30, 1e149):
        forged = from_previous(np.vstack([rows, np.full(3, size)]), **given).estimate
        assert np.linalg.norm(forged - honest) <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("memory", [{}, {"centre": np.ones(2)}, {"centre": np.full(3, np.nan)}])
def test_a_memory_that_is_not_its_own_is_refused(memory):
    with pytest.raises(ValueError, match=r"memory: a finite array 'centre' of shape \(3,\)"):
        from_previous(rows_of(5), memory=memory)


def test_memory_reference_and_clients_pass_through_what_stands_before_a_rule():
    seen = {}

    @rule
    def spy(updates, *, clients=None, weights=None, reference=None, memory=None):
        seen.update(clients=clients, weights=weights, reference=reference, memory=memory)
        return Aggregate(updates.dense()[0], memory={"seen": np.ones(1)})

    rows = rows_of(8)
    rows[3] = np.nan
    everything = {
        "clients": np.arange(8) + 10, "weights": np.arange(8.0), "reference": np.ones(3),
        "memory": {"seen": np.zeros(1)},
    }  # fmt: skip
    shares = np.array([1, 2, 4, 5, 6, 7]) / 25
    for aggregate in (
        spy,
        with_spectral_filter(spy, removable=0.0),
        with_pre_aggregators([PRE["nnm"], PRE["clipping"]], spy),
        with_pre_aggregators([PRE["nnm"]], with_spectral_filter(spy, removable=0.0)),
    ):
        seen.clear()
        assert aggregate(rows, **everything).memory == {"seen": np.ones(1)}
        assert seen["clients"].tolist() == [11, 12, 14, 15, 16, 17]
        assert np.allclose(seen["weights"], shares)
        assert np.array_equal(seen["reference"], everything["reference"])
        assert seen["memory"] is everything["memory"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_bucket_weighs_as_much_as_its_rows(size):
    rows, weights = rows_of(7), np.arange(7.0) + 1
    step = partial(ours.bucketing, size=size)
    whole = with_pre_aggregators([step], ours.mean)(rows, weights=weights)
    assert np.allclose(whole.estimate, np.average(rows, axis=0, weights=weights))
    assert np.allclose(whole.weights, weights / weights.sum())
    groups = ours.bucketing(rows, size=size).weights > 0
    expected = [np.average(rows[g], axis=0, weights=weights[g]) for g in groups]
    mixed = ours.bucketing(rows, size=size, weights=weights)
    assert np.allclose(mixed.rows, expected)
    assert np.allclose(mixed.weights @ rows, expected)
    spoilt, zeros = np.vstack([rows, np.full((2, 3), [[np.nan], [9.0]])]), [*weights, 1, 0]
    assert np.allclose(with_pre_aggregators([step], ours.mean)(spoilt, weights=zeros).estimate,
                       whole.estimate)  # fmt: skip


def midrange(updates, *, shift: float = 0.0):
    """Knows nothing of the contract."""
    return Aggregate((updates.min(axis=0) + updates.max(axis=0)) / 2 + shift)


def weighted_sum(weights, /, *, factor: float = 1.0, clients=None):
    """A parameter for the rows that is called as one of the four; it takes another of them."""
    return Aggregate(factor * weights.sum(axis=0), memory={"clients": clients})


def own_weights(rows, *, weights):
    """Needs weights, and has no default for them."""
    return Aggregate(rows[0] if weights is None else weights @ rows)


class Scaled:
    """A class: its settings are those of its own, what comes with the rows that of its calls."""

    def __init__(self, *, weights: float):
        self.factor = weights

    def __call__(self, rows, *, weights=None):
        return Aggregate(self.factor * weights @ rows)


def built(name, **config):
    return aggregator_of({"_target_": f"{HERE}.{name}", **config})


def test_a_plain_function_is_an_aggregator():
    rows = rows_of(5)
    everything = {
        "clients": np.arange(5), "weights": np.arange(5) + 1.0, "reference": rows[0],
        "memory": {"a": rows}, "origin": rows[1],
    }  # fmt: skip
    assert set(everything) == set(NAMES)
    middle = (rows.min(axis=0) + rows.max(axis=0)) / 2
    assert np.allclose(built("midrange")(rows, **everything).estimate, middle)
    assert np.allclose(built("midrange", shift=2)(rows, **everything).estimate, middle + 2)
    found = built("weighted_sum", factor=2)(rows, **everything)
    assert np.allclose(found.estimate, 2 * rows.sum(axis=0))
    assert found.memory["clients"].tolist() == [0, 1, 2, 3, 4]
    expected = everything["weights"] @ rows
    assert np.allclose(built("own_weights")(rows, **everything).estimate, expected)
    assert np.allclose(built("own_weights")(rows).estimate, rows[0])
    assert np.allclose(built("Scaled", weights=3)(rows, **everything).estimate, 3 * expected)
    mixed = built("own_weights", pre=[{"nnm": {"fraction": 0.2}}])(rows, **everything)
    shares = everything["weights"] / 15
    assert np.allclose(mixed.estimate, shares @ ours.nnm(rows, fraction=0.2).rows)
    with pytest.raises(ValueError, match="weights: must be finite"):
        built("own_weights")(rows, weights=-np.ones(5))


def test_a_function_written_in_c_is_one_too():
    assert as_aggregator(min)([[1.0, 2.0]], weights=[1.0]) == [1.0, 2.0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "target",
    [
        "tagma.strategies.aggregation.mean.mean",
        "tagma.strategies.aggregation.centered_clipping.centered_clipping",
        f"{HERE}.own_weights",
        f"{HERE}.midrange",
    ],
)
def test_what_comes_with_the_rows_is_no_setting(target, name):
    with pytest.raises(SettingError, match=rf"aggregation\.{name}=1: there is no such setting"):
        aggregator_of({"_target_": target, name: 1})


def test_nor_is_it_one_of_a_pre_aggregator():
    mean = {"_target_": "tagma.strategies.aggregation.mean.mean"}
    with pytest.raises(SettingError, match=r"aggregation\.pre\.weights=1: there is no such"):
        aggregator_of(mean | {"pre": [{"bucketing": {"weights": 1}}]})
    weights = np.arange(6.0) + 1
    found = aggregator_of(mean | {"pre": ["bucketing"]})(rows_of(6), weights=weights)
    assert np.allclose(found.weights, weights / weights.sum())


@pytest.mark.parametrize("name", ["foolsgold", "fldetector"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: {}, "a finite array 'clients'"),
        (lambda one: {**one, "clients": one["clients"][::-1]}, "'clients' must ascend"),
        (lambda one: {**one, "clients": one["clients"][:3]}, r"of shape \(3"),
        (lambda one: {**one, "clients": one["clients"] * np.nan}, "a finite array 'clients'"),
        (lambda one: {key: array.T for key, array in one.items()}, "a finite array"),
    ],
)
def test_a_history_that_is_none_is_refused(name, change, said):
    rows = rows_of(5)
    memory = EVERY[name](rows, clients=np.arange(5)).memory
    EVERY[name](rows, clients=np.arange(5), memory=memory)
    with pytest.raises(ValueError, match=f"memory: .*{said}"):
        EVERY[name](rows, clients=np.arange(5), memory=change(memory))


@pytest.mark.parametrize("name", ["foolsgold", "fldetector"])
def test_a_history_knows_clients_by_their_numbers(name):
    rows = rows_of(6)
    first = EVERY[name](rows, clients=np.array([9, 2, 7, 4, 30, 11]))
    assert first.memory["clients"].tolist() == [2, 4, 7, 9, 11, 30]
    rows[1] = np.nan  # of a client that nobody has seen
    second = EVERY[name](rows, clients=np.array([2, 3, 4, 7, 9, 40]), memory=first.memory)
    assert second.memory["clients"].tolist() == [2, 4, 7, 9, 11, 30, 40]
    kept = "sums" if name == "foolsgold" else "updates"
    assert np.array_equal(second.memory[kept][5], rows_of(6)[4])  # of client 30, who was away
    assert np.array_equal(second.memory[kept][6], rows[5])


def test_a_rule_that_needs_a_reference_is_refused_where_there_is_none():
    trusting = {"_target_": "tagma.strategies.aggregation.fltrust.fltrust"}
    for config in (trusting, trusting | {"pre": [{"nnm": {"fraction": 0.2}}]}):
        aggregator_of(config)
        with pytest.raises(SettingError, match=r"aggregation=fltrust: needs a reference, and this"):
            aggregator_of(config, without=("reference",))
    with pytest.raises(SettingError, match="needs a reference"):
        tagma.Robust("fltrust")
    with pytest.raises(SettingError, match=r"task\.server_samples gives it data"):
        algorithm_of(compose(["aggregation=fltrust"]))
    algorithm_of(compose(["task=rotated_digits", "task.server_samples=20", "aggregation=fltrust"]))


def test_layers_are_no_setting_and_given_when_a_rule_is_made():
    config = {"_target_": "tagma.strategies.aggregation.lasa.lasa"}
    rows = rows_of(9, 6)
    found = aggregator_of(config, layers=(4, 2))(rows)
    assert np.array_equal(found.estimate, ours.lasa(rows, layers=[4, 2]).estimate)
    with pytest.raises(SettingError, match="there is no such setting"):
        aggregator_of(config | {"layers": [4, 2]})
