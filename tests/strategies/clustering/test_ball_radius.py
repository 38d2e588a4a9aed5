import numpy as np
import pytest

from tagma.strategies.clustering.ball_radius import balls_around, common_radius, normal_reach
from tests.strategies.clustering.test_clustering import METHODS, three_groups


def distances_of(points, groups):
    centres = np.array([points[groups == k].mean(axis=0) for k in range(groups.max() + 1)])
    return np.linalg.norm(points - centres[groups], axis=1)


def test_scales_are_medians_and_the_pooled_one_is_the_median_over_clients():
    distances = np.array([1.0, 2.0, 3.0, 10.0, 20.0])
    balls = balls_around(distances, np.array([0, 0, 0, 1, 1]), 2, 100)
    assert balls.scales.tolist() == [2.0, 15.0]
    assert balls.pooled == 2.0


def test_a_small_cluster_borrows_its_scale_from_all():
    distances = np.concatenate([np.full(92, 1.0), np.full(8, 4.0)])
    labels = np.repeat([0, 1], [92, 8])
    balls = balls_around(distances, labels, 2, 10**6)
    # Eight own clients, eight borrowed: the geometric mean of 4 and 1. The reach is about 1.
    assert balls.radii == pytest.approx([1, 2], rel=0.01)


@pytest.mark.parametrize("dim", [1, 2, 5, 30, 300])
def test_balls_hold_nearly_all_honest_vectors_in_any_dimension(dim):
    source = np.random.default_rng(dim)
    points, groups = source.normal(size=(400, dim)), np.arange(400) % 4
    distances = distances_of(points, groups)
    radii = balls_around(distances, groups, 4, dim).radii
    assert (distances <= radii[groups]).mean() >= 0.985
    assert radii.max() < 2 * np.sqrt(dim) + 3


def test_uneven_noise_gets_a_wider_ball_up_to_a_limit():
    source = np.random.default_rng(1)
    even = source.normal(size=(200, 200))
    uneven = even * np.exp(0.15 * source.normal(size=(200, 1)))
    groups = np.zeros(200, dtype=int)
    narrow, wide, widest = (
        balls_around(distances_of(rows, groups), groups, 1, 200).radii[0] / 200**0.5
        for rows in (even, uneven, even * np.exp(source.normal(size=(200, 1))))
    )
    assert narrow < 1.35 < 1.5 < wide < 2.1
    assert widest < 2.5


def test_byzantine_clients_cannot_move_the_ball_far_however_far_they_are():
    source = np.random.default_rng(2)
    distances = distances_of(source.normal(size=(100, 50)), np.zeros(100, dtype=int))
    honest = balls_around(distances, np.zeros(100, dtype=int), 1, 50).radii[0]
    byzantine = np.append(distances, np.full(30, 1e6))
    assert balls_around(byzantine, np.zeros(130, dtype=int), 1, 50).radii[0] < 1.3 * honest


def test_the_reach_of_normal_noise_is_that_of_its_quantiles():
    lengths = np.linalg.norm(np.random.default_rng(3).normal(size=(100000, 7)), axis=1)
    assert normal_reach(7) == pytest.approx(
        np.quantile(lengths, 0.999) / np.median(lengths), rel=0.01
    )


def test_an_empty_cluster_has_the_pooled_scale():
    balls = balls_around(np.array([1.0, 1.0]), np.array([0, 0]), 2, 100)
    assert balls.scales.tolist() == [1.0, 1.0]


def test_the_common_radius_of_a_rough_clustering_is_that_of_its_noise():
    points, groups = three_groups(size=40, dim=50)
    rough = METHODS["trimmed_kmeans"](points, groups[None], 3)
    assert 1.1 < common_radius(points, rough) / 50**0.5 < 1.6
