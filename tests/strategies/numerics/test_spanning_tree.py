import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from tagma.strategies.numerics.spanning_tree import DistanceMatrix, minimum_spanning_tree


def tree_of(points):
    return minimum_spanning_tree(DistanceMatrix(squareform(pdist(points))))


def prim(points):
    """The tree's lengths, by growing it from the first point."""
    inside, lengths = [0], []
    while len(inside) < len(points):
        outside = [i for i in range(len(points)) if i not in inside]
        length, nearest = min(
            (np.linalg.norm(points[i] - points[j]), j) for i in inside for j in outside
        )
        lengths.append(length)
        inside.append(nearest)
    return sorted(lengths)


def test_by_hand():
    tree = tree_of(np.array([[0.0], [1.0], [3.0], [10.0], [10.5]]))
    assert tree.lengths.tolist() == [0.5, 1.0, 2.0, 7.0]
    assert tree.components(0).tolist() == [0, 1, 2, 3, 4]
    assert tree.components(2).tolist() == [0, 0, 1, 2, 2]
    assert tree.components(4).tolist() == [0, 0, 0, 0, 0]


def test_lengths_agree_with_prims_algorithm():
    points = np.random.default_rng(0).normal(size=(25, 3))
    assert tree_of(points).lengths == pytest.approx(prim(points))


@pytest.mark.parametrize("size", [1.0, 1e-20, 1e150])
def test_equal_points_are_connected_and_any_size_will_do(size):
    points = size * np.array([[0.0], [0.0], [3.0], [1.0], [3.0]])
    tree = tree_of(points)
    assert tree.lengths == pytest.approx(np.array([0, 0, 1, 2]) * size)
    assert tree.components(2).tolist() == [0, 0, 1, 2, 1]


def test_one_point_and_only_equal_points():
    assert tree_of(np.ones((1, 2))).components(0).tolist() == [0]
    tree = tree_of(np.ones((3, 2)))
    assert tree.lengths.tolist() == [0, 0]
    assert tree.components(2).tolist() == [0, 0, 0]
