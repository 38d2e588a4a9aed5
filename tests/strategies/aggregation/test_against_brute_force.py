"""Every aggregator against its definition, written out as plainly as possible.

For iterative filtering, see `test_spectral_filter`; for means and medians, `test_aggregation` too.
"""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import trim_mean
from sklearn.cluster import MeanShift, estimate_bandwidth

from tagma.strategies import aggregation as ours
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms

clouds = st.builds(
    lambda seed, m, d: np.random.default_rng(seed).normal(size=(m, d)),
    st.integers(0, 10**6),
    st.integers(7, 12),
    st.integers(2, 9),
)


def krum_scores(rows, f):
    return [sum(sorted(((rows - row) ** 2).sum(axis=1))[1 : len(rows) - f - 1]) for row in rows]


@settings(max_examples=30)
@given(clouds)
def test_krum_and_multi_krum(rows):
    f = min(int(0.3 * len(rows)), (len(rows) - 3) // 2)
    order = np.argsort(krum_scores(rows, f))
    assert np.allclose(ours.krum(rows, fraction=0.3).estimate, rows[order[0]])
    best = rows[order[: len(rows) - f]].mean(axis=0)
    assert np.allclose(ours.multi_krum(rows, fraction=0.3).estimate, best)


def near_median(rows, number):
    result = []
    for column in rows.T:
        order = np.argsort(np.abs(column - np.median(column)), kind="stable")
        result.append(column[order[:number]].mean())
    return np.array(result)


@settings(max_examples=30)
@given(clouds)
def test_meamed(rows):
    number = len(rows) - int(0.3 * len(rows))
    assert np.allclose(ours.meamed(rows, fraction=0.3).estimate, near_median(rows, number))


@settings(max_examples=30)
@given(clouds)
def test_bulyan(rows):
    m = len(rows)
    f = min(int(0.2 * m), (m - 3) // 4)
    left, chosen = list(range(m)), []
    while len(chosen) < m - 2 * f:
        part = rows[left]
        count = max(1, len(left) - f - 2)
        scores = [
            (sum(sorted(((part - row) ** 2).sum(axis=1))[1 : count + 1]),
             ((part - row) ** 2).sum())
            for row in part
        ]  # fmt: skip
        rounded = [tuple(np.round(score, 9)) for score in scores]
        chosen.append(left.pop(rounded.index(min(rounded))))
    expected = near_median(rows[sorted(chosen)], m - 4 * f)
    assert np.allclose(ours.bulyan(rows, fraction=0.2).estimate, expected)


@settings(max_examples=30)
@given(clouds)
def test_mda_has_the_least_diameter(rows):
    distances = cdist(rows, rows)
    number = len(rows) - int(0.3 * len(rows))
    subsets = [list(s) for s in combinations(range(len(rows)), number)]
    least = min(distances[np.ix_(s, s)].max() for s in subsets)
    result = ours.mda(rows, fraction=0.3)
    kept = np.flatnonzero(result.kept)
    assert len(kept) == number
    assert distances[np.ix_(kept, kept)].max() == pytest.approx(least)
    assert np.allclose(result.estimate, rows[kept].mean(axis=0))


@settings(max_examples=15)
@given(clouds)
def test_smea_has_the_least_largest_variance(rows):
    number = len(rows) - int(0.2 * len(rows))
    subsets = [list(s) for s in combinations(range(len(rows)), number)]
    variances = [np.linalg.norm(np.cov(rows[s].T, bias=True), 2) for s in subsets]
    expected = rows[subsets[int(np.argmin(variances))]].mean(axis=0)
    assert np.allclose(ours.smea(rows, fraction=0.2).estimate, expected)


@settings(max_examples=30)
@given(clouds)
def test_monna_and_cge(rows):
    number = len(rows) - int(0.3 * len(rows))
    near = np.argsort(np.linalg.norm(rows - rows[4], axis=1))[:number]
    result = ours.monna(rows, fraction=0.3, reference=rows[4])
    assert np.allclose(result.estimate, rows[near].mean(axis=0))
    short = np.argsort(np.linalg.norm(rows, axis=1))[:number]
    assert np.allclose(ours.cge(rows, fraction=0.3).estimate, rows[short].mean(axis=0))


@settings(max_examples=30)
@given(clouds)
def test_nnm_and_bucketing_are_means_of_neighbours_and_of_groups(rows):
    number = len(rows) - int(0.3 * len(rows))
    near = np.argsort(cdist(rows, rows), axis=1)[:, :number]
    assert np.allclose(ours.nnm(rows, fraction=0.3).rows, rows[near].mean(axis=1))
    groups = ours.bucketing(rows, size=3).weights > 0
    expected = [rows[group].mean(axis=0) for group in groups]
    assert np.allclose(ours.bucketing(rows, size=3).rows, expected)


@settings(max_examples=30)
@given(clouds, st.floats(0.1, 5))
def test_clipping_and_arc(rows, radius):
    m, lengths = len(rows), np.linalg.norm(rows, axis=1)
    cut = rows * np.minimum(1, radius / lengths)[:, None]
    assert np.allclose(ours.clipping(rows, radius=radius).rows, cut)
    f = int(0.3 * m)
    adaptive = sorted(lengths, reverse=True)[int(2 * f * (m - f) / m)]
    cut = rows * np.minimum(1, adaptive / lengths)[:, None]
    assert np.allclose(ours.arc(rows, fraction=0.3).rows, cut)


@settings(max_examples=30)
@given(clouds)
def test_caf(rows):
    m = len(rows)
    f = int(0.3 * m)
    weights, least = np.ones(m), np.inf
    while weights.sum() > m - 2 * f:
        mean = np.average(rows, axis=0, weights=weights)
        values, vectors = np.linalg.eigh(np.cov(rows.T, aweights=weights, bias=True))
        if values[-1] < least:
            least, expected = values[-1], mean
        along = ((rows - mean) @ vectors[:, -1]) ** 2
        weights = weights * np.clip(1 - along / along[weights > 0].max(), 0, None)
    assert np.allclose(ours.caf(rows, fraction=0.3).estimate, expected, atol=1e-6)


@settings(max_examples=30)
@given(clouds, st.floats(0.1, 3))
def test_centered_clipping(rows, radius):
    nearer = np.sort(cdist(rows, rows, "sqeuclidean"), axis=1)[:, : len(rows) // 2 + 1].sum(axis=1)
    centre = rows[nearer.argmin()]
    for _ in range(3):
        apart = rows - centre
        lengths = np.linalg.norm(apart, axis=1)
        cut = np.minimum(1, radius / np.maximum(lengths, 1e-300))
        centre = centre + (apart * cut[:, None]).mean(axis=0)
    result = ours.centered_clipping(rows, radius=radius, steps=3)
    assert np.allclose(result.estimate, centre, atol=1e-6)


@settings(max_examples=30)
@given(clouds)
def test_dnc_on_all_columns_is_one_spectral_cut(rows):
    apart = rows - rows.mean(axis=0)
    direction = np.linalg.svd(apart, full_matrices=False)[2][0]
    kept = np.argsort((apart @ direction) ** 2)[: len(rows) - int(0.3 * len(rows))]
    assert np.allclose(ours.dnc(rows, fraction=0.3).estimate, rows[kept].mean(axis=0))


def test_dnc_uses_only_some_columns_and_intersects():
    rows = np.random.default_rng(0).normal(size=(12, 3000))
    rows[0] += 3
    result = ours.dnc(rows, fraction=0.1, columns=200, iterations=4)
    assert not result.kept[0]
    assert result.kept.sum() >= 8
    again = ours.dnc(rows, fraction=0.1, columns=200, iterations=4)
    assert np.array_equal(result.estimate, again.estimate)


def test_dnc_keeps_a_byzantine_client_that_another_hides():
    # It looks in one direction; that is why no breakdown point is claimed for it.
    rows = np.random.default_rng(0).normal(size=(10, 5))
    rows[0], rows[1] = 1e11 * np.eye(5)[0], 1e4 * np.eye(5)[1]
    result = ours.dnc(rows, fraction=0.2)
    assert not result.kept[0]
    assert result.kept[1]


def test_signguard_drops_odd_lengths_and_signs_and_cuts_the_rest():
    honest = np.abs(np.random.default_rng(1).normal(size=(8, 50))) + 0.1
    byzantine = np.vstack([-honest[:2], 100 * honest[2:3], 0.001 * honest[3:4]])
    result = ours.signguard(np.vstack([honest, byzantine]))
    assert result.kept.tolist() == [True] * 8 + [False] * 4
    lengths = np.linalg.norm(np.vstack([honest, byzantine]), axis=1)
    cut = np.minimum(1, np.median(lengths) / lengths[:8])
    assert np.allclose(result.estimate, (honest * cut[:, None]).mean(axis=0))


def exact_geometric_median(rows, start):
    """A row that the others pull with less than its own weight, or the end of Newton's method."""
    for row in rows:
        apart = rows[(rows != row).any(axis=1)] - row
        if np.linalg.norm((apart.T / np.linalg.norm(apart, axis=1)).sum(axis=1)) <= 1:
            return row
    at = start
    for _ in range(50):
        apart = rows - at
        lengths = np.linalg.norm(apart, axis=1)
        units = apart / lengths[:, None]
        bend = np.eye(rows.shape[1]) * (1 / lengths).sum() - (units.T / lengths) @ units
        step = np.linalg.solve(bend, units.sum(axis=0))
        while np.linalg.norm(rows - at - step, axis=1).sum() > lengths.sum() * (1 + 1e-15):
            step /= 2
        at = at + step
    return at


@pytest.mark.parametrize("seed", range(5))
def test_the_group_of_signguard_is_the_largest_of_scikit_learns_mean_shift(seed):
    random = np.random.default_rng(seed)
    rows = np.vstack([random.normal(1, 1, size=(12, 400)), random.normal(-1, 1, size=(5, 400))])
    shares = np.stack([(rows > 0).mean(axis=1), (rows == 0).mean(axis=1), (rows < 0).mean(axis=1)])
    reach = estimate_bandwidth(shares.T, quantile=0.5)
    groups = MeanShift(bandwidth=reach, cluster_all=False).fit(shares.T).labels_
    largest = np.bincount(groups[groups >= 0]).argmax()
    assert ours.signguard(rows).kept.tolist() == (groups == largest).tolist()


@settings(max_examples=30)
@given(clouds)
def test_the_geometric_median_is_accurate_to_a_millionth(rows):
    result = ours.geometric_median(rows)
    start = minimize(lambda y: np.linalg.norm(rows - y, axis=1).sum(), rows.mean(axis=0)).x
    exact = exact_geometric_median(rows, start)
    scale = np.median(np.linalg.norm(rows - exact, axis=1))
    assert np.linalg.norm(result.estimate - exact) <= 1e-6 * scale
    assert result.stopped == "converged"
    assert result.iterations > 0


def slow_cloud():
    """Rows of which one is a ten thousandth from the median: Weiszfeld's steps are tiny there."""
    source = np.random.default_rng(1240)
    m, d = source.integers(7, 13), source.integers(2, 10)
    return source.normal(size=(m, d))


@pytest.mark.parametrize("rows", [slow_cloud(), np.random.default_rng(1982).normal(size=(7, 3))])
def test_a_row_beside_the_geometric_median_does_not_keep_it_from_being_found(rows):
    result = ours.geometric_median(rows)
    start = minimize(lambda y: np.linalg.norm(rows - y, axis=1).sum(), rows.mean(axis=0)).x
    exact = exact_geometric_median(rows, start)
    scale = np.median(np.linalg.norm(rows - exact, axis=1))
    assert result.stopped == "converged"
    assert result.iterations < 200
    assert np.linalg.norm(result.estimate - exact) <= 1e-6 * scale


@pytest.mark.slow
@pytest.mark.parametrize(("m", "d"), [(9, 3), (9, 20_000), (30, 2000), (1000, 40)])
@pytest.mark.parametrize("distance", [1e-3, 0.01, 0.1])
def test_the_geometric_median_is_as_accurate_in_float32_where_a_row_lies_near_it(m, d, distance):
    source = np.random.default_rng(0)
    others = source.normal(size=(m - 1, d))
    aside = distance * source.normal(size=d)
    rows = np.vstack([others, ours.geometric_median(others).estimate + aside]).astype(np.float32)
    exact = ours.geometric_median(rows.astype(np.float64)).estimate
    scale = np.median(np.linalg.norm(rows - exact, axis=1))
    assert np.linalg.norm(ours.geometric_median(rows).estimate - exact) <= 1e-6 * scale


@settings(max_examples=30)
@given(clouds, st.floats(0, 0.49))
def test_trimmed_mean_and_median(rows, beta):
    expected = trim_mean(rows, beta, axis=0)
    assert np.allclose(ours.trimmed_mean(rows, beta=beta).estimate, expected)
    assert np.allclose(ours.median(rows).estimate, np.median(rows, axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0, 1, 1000])
def test_distances_agree_with_scipy(dtype, offset):
    rows = (offset + np.random.default_rng(2).normal(size=(30, 5000))).astype(dtype)
    exact = cdist(rows.astype(np.float64), rows.astype(np.float64), "sqeuclidean")
    found = Geometry(Rows(rows))
    assert np.allclose(found.pairwise(), exact, rtol=2e-6)


def test_norms_agree_with_numpy():
    rows = np.random.default_rng(3).normal(size=(5, 70_000))
    assert np.allclose(norms(Rows(rows)), np.linalg.norm(rows, axis=1))


@pytest.mark.parametrize("size", [1e-40, 1e-30, 0, 1e30, 3e38])
def test_lengths_whose_squares_float32_cannot_hold_are_right(size):
    rows = np.vstack([np.ones((2, 3)), np.full((2, 3), size)]).astype(np.float32)
    expected = np.linalg.norm(rows.astype(np.float64), axis=1)
    assert np.allclose(norms(Rows(rows)), expected, rtol=1e-6, atol=0)
