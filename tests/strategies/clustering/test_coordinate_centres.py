import numpy as np

from tagma.strategies.clustering.coordinate_centres import Coordinates
from tagma.strategies.clustering.weighted_centres import Points


def test_distances_by_hand():
    space = Coordinates(np.array([[0.0, 0.0], [3.0, 4.0]]))
    centres = np.array([[[0.0, 0.0]], [[3.0, 0.0]]])
    assert space.squared_distances(centres).tolist() == [[[0.0, 25.0]], [[9.0, 16.0]]]


def test_means_have_the_same_distances_as_weights_and_as_coordinates():
    source = np.random.default_rng(0)
    rows = source.normal(size=(8, 3)) + 50
    weights = source.dirichlet(np.ones(8), size=(2, 4))
    as_weights, as_coordinates = Points(rows), Coordinates(rows)
    centres = as_weights.combine(weights)
    assert np.allclose(
        as_weights.squared_distances(weights),
        as_coordinates.squared_distances(centres),
    )
    assert np.allclose(as_weights.combine(as_weights.mean), as_coordinates.mean)
