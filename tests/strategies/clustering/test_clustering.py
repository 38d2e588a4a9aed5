import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ortho_group
from sklearn.cluster import KMeans

from tagma.server.results.cluster_scores import misclustering
from tagma.strategies import clustering
from tagma.strategies.clustering import (
    estimate_scale,
    kgeomedians,
    kmeans,
    random_labels,
    trimmed_kmeans,
)
from tests.strategies.clustering.plain_lloyd import plain_lloyd

COMMON = {"iterations": 20, "fraction": 0.2}
METHODS = {
    "kmeans": lambda points, initial, k: kmeans(points, initial, k=k, **COMMON),
    "kgeomedians": lambda points, initial, k: kgeomedians(points, initial, k=k, **COMMON),
    "trimmed_kmeans": lambda points, initial, k: trimmed_kmeans(
        points, initial, k=k, radius=2.0, **COMMON
    ),
}
ROBUST = ["kgeomedians", "trimmed_kmeans"]


def three_groups(size=12, dim=6, seed=0):
    """Points around three centres at distance 10, and their groups."""
    source = np.random.default_rng(seed)
    groups = np.arange(3 * size) % 3
    return 10 * np.eye(dim)[groups] + source.normal(size=(3 * size, dim)), groups


def starts(count, k, restarts=20, seed=1):
    return random_labels(np.arange(count), k=k, restarts=restarts, seed=seed)


@pytest.mark.parametrize("name", METHODS)
def test_one_iteration_by_hand(name):
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    initial = np.array([[0, 0, 0, 0, 1, 1]])
    result = METHODS[name](points, initial, 2)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.allclose(result.centres, [[1.0], [11.0]], atol=1e-3)
    assert result.stopped == "fixed point"
    assert result.history[0].tolist() == initial[0].tolist()
    assert result.history[-1].tolist() == result.labels.tolist()
    assert len(result.history) == result.iterations + 1


@pytest.mark.parametrize("size", [1e30, 1e100, 1e150])
@pytest.mark.parametrize("dim", [6, 40])
@pytest.mark.parametrize("name", ROBUST)
def test_points_of_astronomic_size_move_no_centre(name, dim, size):
    points, groups = three_groups(dim=dim)
    points = np.vstack([points, np.full((2, dim), size)])
    result = METHODS[name](points, starts(len(points), 3), 3)
    assert misclustering(result.labels[:-2], groups) == 0
    assert np.abs(result.centres).max() < 15


FINITE_ONLY = {
    "density": {"k": 2},
    "edge_cutting": {"k": 2, "fraction": 0.2},
    "kfiltered_means": {"k": 2, "factor": 1.3, "removable": 0.3, **COMMON},
    "kgeomedians": {"k": 2, **COMMON},
    "kmeans": {"k": 2, **COMMON},
    "kmedians": {"k": 2, **COMMON},
    "ktrimmed_means": {"k": 2, "beta": 0.1, **COMMON},
    "symmetric_filtering": {"k": 2, "factor": 1.3, "removable": 0.3, **COMMON},
    "trimmed_kmeans": {"k": 2, "radius": 2.0, **COMMON},
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e151])
@pytest.mark.parametrize("name", FINITE_ONLY)
def test_points_that_are_not_finite_are_one_clear_error(name, value):
    points, _ = three_groups()
    points[7, 2] = value
    positional = [points] if name == "density" else [points, starts(len(points), 2)]
    with pytest.raises(ValueError, match=r"must be finite and at most 1e\+150; 1 are not, first 7"):
        getattr(clustering, name)(*positional, **FINITE_ONLY[name])


def test_the_ball_excludes_what_is_far_from_the_median():
    points = np.array([[0.0], [1.0], [2.0], [9.0]])
    result = trimmed_kmeans(
        points, np.zeros((1, 4), dtype=int),
        k=1, iterations=5, fraction=0.3, radius=3.0, sigma=1.0,
    )  # fmt: skip
    assert result.trimmed.tolist() == [False, False, False, True]
    assert result.centres[0, 0] == pytest.approx(1.0)
    assert result.radius.tolist() == [3.0]


def test_an_empty_ball_leaves_the_geometric_median():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
    result = trimmed_kmeans(
        points, np.zeros((1, 4), dtype=int),
        k=1, iterations=5, fraction=0.0, radius=0.1, sigma=1.0,
    )  # fmt: skip
    assert result.trimmed.all()
    assert np.allclose(result.centres, [[2.0, 2.0]])


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_cluster_keeps_its_centre_and_the_run_goes_on(name):
    points, groups = three_groups()
    initial = groups.copy()
    initial[initial == 2] = 1
    result = METHODS[name](points, initial[None], 3)
    assert np.isfinite(result.centres).all()
    assert set(result.labels) <= {0, 1, 2}


@pytest.mark.parametrize("name", METHODS)
def test_separated_groups_are_found_from_random_labels(name):
    points, groups = three_groups()
    result = METHODS[name](points, starts(len(points), 3), 3)
    assert misclustering(result.labels, groups) == 0


@pytest.mark.parametrize("name", ROBUST)
def test_far_away_byzantine_clients_do_not_take_a_cluster(name):
    points, groups = three_groups()
    byzantine = np.random.default_rng(5).normal(size=(5, 6)) * 1e4
    everyone = np.vstack([points, byzantine])
    result = METHODS[name](everyone, starts(len(everyone), 3), 3)
    assert misclustering(result.labels[: len(points)], groups) == 0


def test_the_same_byzantine_clients_mislead_plain_kmeans():
    points, groups = three_groups()
    byzantine = np.random.default_rng(5).normal(size=(5, 6)) * 1e4
    everyone = np.vstack([points, byzantine])
    result = METHODS["kmeans"](everyone, starts(len(everyone), 3), 3)
    assert misclustering(result.labels[: len(points)], groups) > 0.3


@pytest.mark.parametrize("name", METHODS)
def test_a_row_of_astronomic_size_is_only_an_outlier(name):
    points, groups = three_groups()
    for size in (1e8, 1e30, 1e140):
        everyone = np.vstack([points, np.full((1, 6), size)])
        result = METHODS[name](everyone, starts(len(everyone), 3), 3)
        assert np.isfinite(result.centres).all()
        if name in ROBUST:
            assert misclustering(result.labels[:-1], groups) == 0


def test_kmeans_agrees_with_scikit_learn_from_the_same_start():
    source = np.random.default_rng(7)
    points = source.normal(size=(80, 4))
    initial = source.integers(0, 4, size=80)
    centres = np.array([points[initial == k].mean(axis=0) for k in range(4)])
    theirs = KMeans(4, init=centres, n_init=1, max_iter=300, tol=0).fit(points)
    ours = kmeans(points, initial[None], k=4, iterations=300, fraction=0.0)
    assert misclustering(ours.labels, theirs.labels_) == 0
    assert np.allclose(np.sort(ours.centres, axis=0), np.sort(theirs.cluster_centers_, axis=0))


@pytest.mark.parametrize("name", METHODS)
def test_order_translation_scale_and_rotation_do_not_change_the_clusters(name):
    points, _ = three_groups(seed=3)
    source = np.random.default_rng(8)
    initial = source.integers(0, 3, size=(4, len(points)))
    labels = METHODS[name](points, initial, 3).labels
    order = source.permutation(len(points))
    assert np.array_equal(METHODS[name](points[order], initial[:, order], 3).labels, labels[order])
    rotation = ortho_group.rvs(6, random_state=1)
    moved = 0.01 * points @ rotation + 1000
    assert np.array_equal(METHODS[name](moved, initial, 3).labels, labels)


@pytest.mark.parametrize("name", METHODS)
def test_the_best_of_several_restarts_is_one_of_them(name):
    points, _ = three_groups(seed=4)
    initial = starts(len(points), 3, restarts=6)
    together = METHODS[name](points, initial, 3)
    alone = [METHODS[name](points, initial[row : row + 1], 3) for row in range(6)]
    matches = [np.array_equal(together.history[0], one.history[0]) for one in alone]
    one = alone[matches.index(True)]
    assert np.array_equal(together.labels, one.labels)
    assert np.allclose(together.centres, one.centres, atol=1e-4)
    assert together.iterations == one.iterations


def test_many_points_in_few_dimensions_give_the_same_as_the_gram_matrix():
    source = np.random.default_rng(9)
    flat = np.vstack([source.normal(size=(50, 2)), source.normal(size=(50, 2)) + 9])
    padded = np.hstack([flat, np.zeros((100, 60))])
    initial = starts(100, 2)
    for name in ("kmeans", "kgeomedians"):
        first, second = METHODS[name](flat, initial, 2), METHODS[name](padded, initial, 2)
        assert np.array_equal(first.labels, second.labels)
        assert np.allclose(first.centres, second.centres[:, :2], atol=1e-6)


def test_random_labels_of_a_client_do_not_depend_on_the_others():
    everyone = random_labels(np.arange(10), k=3, restarts=4, seed=2)
    without_third = random_labels(np.delete(np.arange(10), 3), k=3, restarts=4, seed=2)
    assert np.array_equal(np.delete(everyone, 3, axis=1), without_third)


@pytest.mark.parametrize(("dim", "accuracy"), [(1, 0.45), (3, 0.25), (20, 0.15), (200, 0.1)])
@pytest.mark.parametrize("byzantine", [0.0, 0.3])
def test_the_scale_is_estimated_the_better_the_more_dimensions(dim, accuracy, byzantine):
    source = np.random.default_rng(dim)
    centres = source.normal(size=(4, dim)) * 1000
    points = centres[np.arange(200) % 4] + 0.7 * source.normal(size=(200, dim))
    points[: int(byzantine * 200)] = source.normal(size=(int(byzantine * 200), dim)) * 1e5
    assert estimate_scale(points, k=4, fraction=0.35) == pytest.approx(0.7, rel=accuracy)


def test_byzantine_clients_that_all_send_the_same_do_not_shrink_the_scale_to_nothing():
    source = np.random.default_rng(1)
    points = source.normal(size=(100, 20))
    points[:34] = 3.0
    assert estimate_scale(points, k=1, fraction=0.35) == pytest.approx(1, rel=0.25)


def test_scatter_is_the_deviation_of_the_untrimmed():
    points, groups = three_groups(size=40)
    result = METHODS["trimmed_kmeans"](points, groups[None], 3)
    assert np.allclose(result.scatter(points), 1, atol=0.1)


@pytest.mark.parametrize("name", METHODS)
def test_the_centres_on_the_way_are_those_of_the_labels_on_the_way(name):
    points, _ = three_groups(seed=6)
    initial = starts(len(points), 3, restarts=5)
    whole = METHODS[name](points, initial, 3)
    assert np.allclose(whole.centre_history[-1], whole.centres, atol=1e-4)
    assert np.array_equal(whole.trimmed_history[-1], whole.trimmed)
    assert len(whole.centre_history) == len(whole.history) > 1
    if name == "kmeans":
        first = [points[whole.history[0] == k].mean(axis=0) for k in range(3)]
        assert np.allclose(whole.centre_history[0], first)


def optimised_median(rows):
    """The geometric median by a general minimiser."""
    found = minimize(
        lambda y: np.linalg.norm(rows - y, axis=1).sum(), np.median(rows, axis=0),
        method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("seed", range(3))
def test_kgeomedians_agree_with_a_plain_loop_around_a_general_minimiser(seed):
    source = np.random.default_rng(seed)
    points = source.normal(size=(45, 2))
    initial = source.integers(0, 3, size=45)
    labels, centres = plain_lloyd(points, initial, 3, optimised_median)
    result = kgeomedians(points, initial[None], k=3, iterations=50, fraction=0.0)
    assert np.array_equal(result.labels, labels)
    assert np.allclose(result.centres, centres, atol=1e-3)


@pytest.mark.parametrize("radius", [0.6, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_trimmed_kmeans_agrees_with_a_plain_loop_of_algorithm_2(seed, radius):
    source = np.random.default_rng(seed)
    points = source.normal(size=(45, 2))
    initial = source.integers(0, 3, size=45)

    def ball_mean(rows):
        median = optimised_median(rows)
        inside = np.linalg.norm(rows - median, axis=1) <= radius * 0.9 * np.sqrt(2)
        return rows[inside].mean(axis=0) if inside.any() else median

    labels, centres = plain_lloyd(points, initial, 3, ball_mean)
    result = trimmed_kmeans(
        points, initial[None], k=3, iterations=100, fraction=0.0, radius=radius, sigma=0.9
    )
    assert 0 < result.trimmed.sum() < 45
    assert np.array_equal(result.labels, labels)
    assert np.allclose(result.centres, centres, atol=1e-3)
