import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from tagma.strategies.numerics.spanning_tree import SpanningTree
from tagma.tasks import single_linkage as module
from tagma.tasks.feature_graph import threshold_components
from tagma.tasks.single_linkage import (
    components_below,
    large_components,
    search_gamma,
    single_linkage,
)
from tests.tasks.test_feature_graph import LATTICES, clouds, partition


def test_a_tree_by_hand():
    tree = single_linkage(np.array([[0.0], [1.0], [3.0], [10.0]]))
    assert tree.lengths.tolist() == [1.0, 2.0, 7.0]
    assert {frozenset(ends) for ends in tree.ends.tolist()} == {
        frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3}),
    }  # fmt: skip


def test_one_point_has_no_edges():
    tree = single_linkage(np.zeros((1, 3)))
    assert len(tree) == 1
    assert components_below(tree, 1.0).tolist() == [0]


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_lengths_agree_with_scipys_single_linkage_for_every_block(block):
    points = clouds(points=45)
    heights = linkage(pdist(points), "single")[:, 2]
    assert np.allclose(single_linkage(points, block=block).lengths, heights, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(LATTICES)
def test_ties_and_equal_points_give_the_same_components_at_every_gamma(points):
    tree = single_linkage(points, block=6)
    assert np.allclose(tree.lengths, linkage(pdist(points), "single")[:, 2], rtol=1e-12)
    for gamma in [0.5, *np.unique(tree.lengths) + 1e-9]:
        expected = partition(threshold_components(points, gamma))
        assert partition(components_below(tree, gamma)) == expected


def test_single_precision_finds_the_same_tree_where_lengths_differ(monkeypatch):
    points = clouds(points=150).astype(np.float32)
    double = single_linkage(points)
    monkeypatch.setattr(module, "_DOUBLE_UP_TO", 100)
    single = single_linkage(points)
    assert np.allclose(single.lengths, double.lengths, rtol=1e-5)
    assert partition(components_below(single, 1.1)) == partition(components_below(double, 1.1))


def test_translation_and_order_do_not_change_the_lengths():
    points = clouds(points=70)
    lengths = single_linkage(points).lengths
    moved = points[np.random.default_rng(0).permutation(70)] + 1000.0
    assert np.allclose(single_linkage(moved, block=20).lengths, lengths)


# Points 0..3 and 10..12 one apart, 100 alone: two large components up to 7, then one.
LINE = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 100.0])[:, None]


def test_the_search_by_hand_takes_the_middle_of_the_widest_fitting_gamma():
    tree = single_linkage(LINE)
    assert search_gamma(tree, clusters=2, min_size=3) == pytest.approx((1 + 7) / 2)
    assert search_gamma(tree, clusters=1, min_size=7) == pytest.approx(2 * 88)
    assert search_gamma(tree, clusters=1, min_size=8) == pytest.approx(2 * 88)
    assert search_gamma(tree, clusters=3, min_size=3) is None
    equal = single_linkage(np.ones((4, 2)))
    assert components_below(equal, search_gamma(equal, clusters=1, min_size=4)).tolist() == [0] * 4


def test_large_components_after_every_edge_by_hand():
    ends = np.array([[0, 1], [2, 3], [0, 2], [4, 0]])
    tree = SpanningTree(ends, np.array([1.0, 2.0, 3.0, 4.0]))
    assert large_components(tree, 2).tolist() == [1, 2, 1, 1]
    assert large_components(tree, 1).tolist() == [4, 3, 2, 1]
    assert large_components(tree, 5).tolist() == [0, 0, 0, 1]


@settings(max_examples=40, deadline=None)
@given(LATTICES, st.integers(1, 4), st.integers(1, 5))
def test_the_search_agrees_with_trying_every_gamma(points, clusters, min_size):
    distances = np.unique(np.round(linkage(pdist(points), "single")[:, 2], 9))
    held = {}
    for gamma in distances + 1e-6:
        sizes = np.bincount(threshold_components(points, gamma))
        large = sizes[sizes >= min_size]
        if len(large) == clusters:
            held[gamma] = large.sum()
    gamma = search_gamma(single_linkage(points), clusters, min_size)
    if not held:
        assert gamma is None
    else:
        sizes = np.bincount(threshold_components(points, gamma))
        large = sizes[sizes >= min_size]
        assert len(large) == clusters
        assert large.sum() == max(held.values())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(1, 4))
def test_the_search_moves_with_order_translation_scale_and_rotation(seed, clusters):
    points = clouds(seed, points=50, dim=3)
    gamma = search_gamma(single_linkage(points), clusters, 5)
    source = np.random.default_rng(seed)
    rotation = np.linalg.qr(source.normal(size=(3, 3)))[0]
    moved = 4.0 * points[source.permutation(50)] @ rotation + [10.0, -3.0, 1.0]
    again = search_gamma(single_linkage(moved), clusters, 5)
    assert (again is None) == (gamma is None)
    if gamma is not None:
        assert again == pytest.approx(4 * gamma)
