import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from tagma.strategies.numerics.spanning_tree import join
from tagma.tasks.feature_graph import largest_first_labels, threshold_components
from tagma.tasks.pairwise_distances import Pairwise

LATTICES = arrays(np.float64, st.tuples(st.integers(2, 25), st.just(2)), elements=st.integers(0, 6))


def clouds(seed=0, points=120, dim=5):
    source = np.random.default_rng(seed)
    return source.normal(size=(points, dim)) + 3 * source.integers(0, 3, size=(points, 1))


def partition(labels):
    """The components as sets of points, whatever their numbers."""
    return {frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)}


def by_hierarchy(points, gamma):
    """Components from SciPy's single linkage; it joins up to a height, we below gamma."""
    return partition(fcluster(linkage(pdist(points), "single"), np.nextafter(gamma, 0), "distance"))


def test_components_by_hand_are_numbered_by_size():
    points = np.array([[9.0, 0.0], [0.0, 0.0], [1.0, 0.0], [20.0, 0.0], [2.0, 0.0], [9.0, 1.0]])
    assert threshold_components(points, 1.5).tolist() == [1, 0, 0, 2, 0, 1]


def test_a_pair_at_distance_gamma_is_not_joined():
    points = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert threshold_components(points, 5.0).tolist() == [0, 1]
    assert threshold_components(points, np.nextafter(5.0, 6.0)).tolist() == [0, 0]


@pytest.mark.parametrize("gamma", [0.3, 0.9, 1.3, 2.0, 9.0])
def test_components_agree_with_scipys_single_linkage(gamma):
    points = clouds()
    assert partition(threshold_components(points, gamma)) == by_hierarchy(points, gamma)


@settings(max_examples=40, deadline=None)
@given(LATTICES, st.integers(1, 16))
def test_components_agree_with_scipy_where_many_distances_are_exactly_gamma(points, square):
    # Lengths on the lattice are roots of whole numbers, so gamma is often one of them.
    gamma = np.sqrt(float(square))
    assert partition(threshold_components(points, gamma)) == by_hierarchy(points, gamma)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 13), (50, 20), (1000, 1000)])
def test_blocks_do_not_change_the_components(rows, columns):
    points = clouds(seed=1)
    whole = threshold_components(points, 1.2)
    assert np.array_equal(threshold_components(points, 1.2, rows=rows, columns=columns), whole)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.2, 3.0))
def test_order_place_and_direction_of_the_points_do_not_matter(seed, gamma):
    points = clouds(seed, points=60, dim=3)
    expected = partition(threshold_components(points, gamma))
    order = np.random.default_rng(seed).permutation(60)
    back = np.argsort(order)
    assert partition(threshold_components(points[order], gamma)[back]) == expected
    moved = points @ ortho_group.rvs(3, random_state=seed % 2**31) + [40.0, -7.0, 3.0]
    assert partition(threshold_components(moved, gamma)) == expected
    assert partition(threshold_components(1e12 * points, 1e12 * gamma)) == expected


def test_single_precision_far_from_the_origin_decides_by_the_features_themselves():
    # At 4096 single precision knows 2^-11. Its matrix products do not, but the comparison does.
    line = (4096 + np.arange(64) * 2.0**-11).astype(np.float32)[:, None]
    points = np.hstack([line, -line, line])
    step = np.sqrt(3) * 2.0**-11
    assert threshold_components(points, step * (1 - 1e-9)).max() == 63
    assert threshold_components(points, step * (1 + 1e-9)).max() == 0


def test_the_rounding_error_of_a_block_is_within_its_bound():
    points = clouds(dim=40).astype(np.float32) + np.float32(100)
    pairs, everyone = Pairwise(points), np.arange(120)
    squared = pairs.squared(everyone, everyone).astype(np.float64) * pairs.unit**2
    left, right = (grid.ravel() for grid in np.meshgrid(everyone, everyone, indexing="ij"))
    exact = pairs.lengths(left, right).reshape(120, 120) ** 2
    error = np.abs(squared - exact).max()
    assert 0 < error <= pairs.slack(everyone, everyone) * pairs.unit**2


def test_equal_points_are_one_component():
    assert threshold_components(np.ones((5, 3)), 1e-9).tolist() == [0] * 5


def test_progress_ends_at_everything():
    shares = []
    threshold_components(clouds(), 1.0, rows=30, columns=30, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_joining_many_times_the_same_components_joins_them_once():
    many = np.zeros(1000, dtype=int)
    assert join(np.array([0, 1, 2]), many, many + 1).tolist() == [0, 0, 1]


def test_equal_sizes_are_numbered_by_their_first_point():
    assert largest_first_labels(np.array([7, 2, 2, 9, 7])).tolist() == [0, 1, 1, 2, 0]
