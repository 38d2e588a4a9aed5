import tracemalloc
from math import ceil, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, ortho_group

from tagma.strategies.aggregation import mean, median, spectral_filter
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.top_eigenpair import Spread

OPTIONS = {"factor": 1.3, "removable": 0.45}


def with_byzantine(honest=30, byzantine=9, dim=12, distance=15.0, seed=0):
    """Standard normal rows, then Byzantine clients around one place."""
    source = np.random.default_rng(seed)
    rows = source.normal(size=(honest + byzantine, dim))
    place = source.normal(size=dim)
    rows[honest:] += distance * place / np.linalg.norm(place)
    return rows


def plain_filter(rows, sigma, factor, removable):
    """The definition, with a full eigendecomposition and loops."""
    kept = list(range(len(rows)))
    least = len(rows) - int(removable * len(rows))
    while True:
        chosen = rows[kept]
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(chosen.T, bias=True)))
        places = chosen @ vectors[:, -1]
        share = min(0.5, 1 - removable)
        widths = [
            np.sort(places[places >= low] - low)[ceil(share * len(kept)) - 1]
            for low in places
            if (places >= low).sum() >= ceil(share * len(kept))
        ]
        own = min(widths) / (norm.ppf(0.5 + share / 2) - norm.ppf(0.5 - share / 2))
        noise = max(sigma * (1 + sqrt(rows.shape[1] / len(kept))), own) ** 2
        if values[-1] <= factor * noise or len(kept) == least:
            return kept
        near = [np.abs(places - place) <= 2 * sqrt(noise) for place in places]
        off_middle = np.abs(places - np.median(places))
        best = min(range(len(kept)), key=lambda i: (-near[i].sum(), off_middle[i]))
        squares = (places - np.median(places[near[best]])) ** 2
        order = sorted(range(len(kept)), key=lambda i: -squares[i])
        count = int((squares > 2 * log(len(kept)) * noise).sum()) or -(-len(kept) // 100)
        gone = set(order[: min(count, len(kept) - least)])
        kept = [row for i, row in enumerate(kept) if i not in gone]


def test_an_outlier_by_hand():
    rows = np.array([[-1.0], [0.0], [1.0], [10.0]])
    result = spectral_filter(rows, sigma=1.0, **OPTIONS)
    assert result.kept.tolist() == [True, True, True, False]
    assert result.estimate == pytest.approx([0.0])
    assert result.deviation == pytest.approx(sqrt(2 / 3))
    assert result.bound == pytest.approx(sqrt(1.3) * (1 + sqrt(1 / 3)))
    assert result.iterations == 1
    assert result.stopped == "within the bound"


def test_rows_that_noise_explains_are_all_kept():
    rows = np.array([[-1.0], [0.0], [1.0], [2.0]])
    result = spectral_filter(rows, sigma=1.0, **OPTIONS)
    assert result.kept.all()
    assert result.iterations == 0
    assert result.estimate == pytest.approx([0.5])


def test_within_the_reach_of_noise_the_farthest_goes():
    """Edge 1.5, bound 0.6, variance 0.64; nothing is beyond the reach 2 log(5) 1.5 = 4.8."""
    rows = np.array([[0.0], [0.0], [0.0], [0.0], [2.0]])
    sigma = sqrt(1.5) / (1 + sqrt(1 / 5))
    result = spectral_filter(rows, sigma=sigma, factor=0.4, removable=0.45)
    assert result.kept.tolist() == [True, True, True, True, False]
    assert result.iterations == 1


def test_no_more_than_the_removable_share_goes():
    rows = np.array([[0.0], [0.1], [0.2], [50.0], [70.0]])
    result = spectral_filter(rows, sigma=0.1, factor=1.3, removable=0.2)
    assert result.kept.tolist() == [True, True, True, True, False]
    assert result.stopped == "removal limit"
    assert result.deviation > result.bound


@pytest.mark.parametrize("dim", [1, 3, 12, 60])
@pytest.mark.parametrize("distance", [3.0, 6.0, 40.0])
def test_agrees_with_the_definition(dim, distance):
    for seed in range(4):
        rows = with_byzantine(dim=dim, distance=distance, seed=seed)
        result = spectral_filter(rows, sigma=0.9, **OPTIONS)
        assert np.flatnonzero(result.kept).tolist() == plain_filter(rows, 0.9, **OPTIONS)
        assert np.allclose(result.estimate, rows[result.kept].mean(axis=0))


def test_noise_that_is_uneven_is_not_taken_for_byzantine_clients():
    deviations = np.arange(1, 41) ** -1.0
    for seed in range(5):
        rows = np.random.default_rng(seed).normal(size=(200, 40)) * deviations
        sigma = np.sqrt((deviations**2).mean())
        assert spectral_filter(rows, sigma=sigma, **OPTIONS).kept.mean() > 0.97


@pytest.mark.parametrize("dim", [3, 60])
def test_rotation_translation_scale_and_order(dim):
    rows = with_byzantine(dim=dim, distance=6.0)
    source = np.random.default_rng(1)
    rotation = ortho_group.rvs(dim, random_state=1)
    order = source.permutation(len(rows))
    result = spectral_filter(rows, sigma=1.0, **OPTIONS)
    assert 0 < (~result.kept).sum() < 17
    moved = spectral_filter(-0.01 * rows[order] @ rotation + 1000, sigma=0.01, **OPTIONS)
    assert np.array_equal(moved.kept, result.kept[order])
    assert np.allclose(moved.estimate, -0.01 * result.estimate @ rotation + 1000, atol=1e-9)
    assert moved.iterations == result.iterations


def test_twenty_thousand_dimensions():
    """No coordinate tells Byzantine rows from honest ones: they differ by 0.7 of its noise."""
    rows = with_byzantine(honest=40, byzantine=20, dim=20_000, distance=100.0)
    tracemalloc.start()
    result = spectral_filter(rows, sigma=1.0, **OPTIONS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * rows.nbytes  # a d x d matrix has 333 times the size of the rows
    assert np.flatnonzero(~result.kept).tolist() == list(range(40, 60))
    error = np.linalg.norm(result.estimate)
    assert error == pytest.approx(sqrt(20_000 / 40), rel=0.05)
    assert np.linalg.norm(median(rows).estimate) > 1.5 * error


def test_twenty_thousand_dimensions_and_more_rows_than_are_decomposed_as_a_whole():
    """520 rows take neither Gram matrix: the leading direction is found by Lanczos."""
    rows = with_byzantine(honest=380, byzantine=140, dim=20_000, distance=60.0)
    assert Spread(Rows(rows[:, :600])).geometry is None
    tracemalloc.start()
    result = spectral_filter(rows, sigma=1.0, **OPTIONS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * rows.nbytes  # a d x d matrix has 38 times the size of the rows
    assert np.flatnonzero(~result.kept).tolist() == list(range(380, 520))
    assert result.stopped == "within the bound"


def test_byzantine_clients_in_one_place_do_no_harm_up_to_almost_half():
    for distance in (10.0, 1e3, 1e8):
        rows = with_byzantine(honest=60, byzantine=45, dim=20)
        rows[60:] = distance
        result = spectral_filter(rows, sigma=1.0, **OPTIONS)
        assert np.flatnonzero(~result.kept).tolist() == list(range(60, 105))


def test_a_scattered_majority_does_no_harm_if_it_may_be_removed():
    source = np.random.default_rng(4)
    rows = source.normal(size=(36, 100))
    rows[14:] = 15 * source.integers(0, 2, size=(22, 100)) + source.normal(size=(22, 100))
    result = spectral_filter(rows, sigma=1.0, factor=1.3, removable=0.7)
    assert np.flatnonzero(result.kept).tolist() == list(range(14))


def test_rows_of_astronomic_size_are_only_outliers():
    rows = np.random.default_rng(0).normal(size=(20, 6))
    for size in (1e8, 1e30, 1e150):
        lies = np.array([[size] * 6, [-size] * 6, [size / 3] * 6])
        result = spectral_filter(np.vstack([rows, lies]), sigma=1.0, **OPTIONS)
        assert np.flatnonzero(~result.kept).tolist() == [20, 21, 22]
        assert np.allclose(result.estimate, mean(rows).estimate, rtol=1e-12)


def test_one_row_is_its_own_mean():
    result = spectral_filter(np.array([[3.0, 4.0]]), sigma=1.0, **OPTIONS)
    assert result.estimate.tolist() == [3.0, 4.0]
    assert result.stopped == "within the bound"


@settings(deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(1, 12)),
        elements=st.floats(-1e150, 1e150),
    ),
    st.floats(1e-300, 1e150),
    st.floats(0, 0.99),
)
def test_whatever_is_finite_has_a_finite_mean_in_its_range(rows, sigma, removable):
    result = spectral_filter(rows, sigma=sigma, factor=1.3, removable=removable)
    assert (~result.kept).sum() <= removable * len(rows)
    # The smallest numbers of all have few digits.
    slack = 1e-12 * np.abs(rows).max() + np.finfo(np.float64).tiny
    assert (result.estimate >= rows.min(axis=0) - slack).all()
    assert (result.estimate <= rows.max(axis=0) + slack).all()
