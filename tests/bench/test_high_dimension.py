import numpy as np
import pytest

from tagma.bench.experiments.high_dimension_trial import KINDS, high_dimension_trial
from tagma.bench.experiments.symmetric_mixture import draw_mixture, start_near
from tagma.bench.experiments.two_clusters_trial import two_clusters_trial


@pytest.mark.parametrize("outliers", KINDS)
def test_the_mixture_is_as_described(outliers):
    source = np.random.default_rng(0)
    mixture = draw_mixture(
        source, points=4000, dim=8, signal=3.0, alpha=0.1, outliers=outliers, distance=20.0
    )
    rows = mixture.points * mixture.signs[:, None] - mixture.theta
    inliers, outlying = rows[~mixture.outlier], rows[mixture.outlier]
    assert np.linalg.norm(mixture.theta) == pytest.approx(3)
    assert mixture.outlier.mean() == pytest.approx(0.1, abs=0.02)
    assert np.allclose(inliers.mean(axis=0), 0, atol=0.1)
    assert np.allclose(inliers.std(axis=0), 1, atol=0.1)
    assert np.linalg.norm(outlying.mean(axis=0)) == pytest.approx(20, rel=0.1)
    assert outlying.mean(axis=0) @ mixture.theta == pytest.approx(0, abs=1)
    assert np.linalg.norm(start_near(mixture.theta, source) - mixture.theta) == pytest.approx(1.5)


def test_labels_count_up_to_a_swap():
    mixture = draw_mixture(
        np.random.default_rng(0), points=10, dim=2, signal=3.0, alpha=0.0, outliers="point",
        distance=1.0,
    )  # fmt: skip
    labels = mixture.signs.copy()
    labels[:2] *= -1
    assert mixture.misclustered(labels) == pytest.approx(0.2)
    assert mixture.misclustered(-labels) == pytest.approx(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("outliers", KINDS)
@pytest.mark.parametrize(("dim", "bar"), [(10, 1.7), (40, 1.2)])
def test_the_filter_is_near_the_oracle_where_the_mean_is_far(dim, bar, outliers):
    trials = [
        high_dimension_trial(dim=dim, outliers=outliers, seed=seed, points=5000)
        for seed in range(2)
    ]
    oracle, found, plain = (
        np.mean([trial[name] for trial in trials]) for name in ("oracle", "filter", "mean")
    )
    assert found < bar * oracle
    assert plain > 3 * oracle


def test_a_trial_repeats():
    first, again = (
        high_dimension_trial(dim=3, outliers="cloud", seed=5, points=500) for _ in range(2)
    )
    assert first == again


def test_a_fifth_of_outliers_turns_the_mean_and_nothing_else():
    result = two_clusters_trial(seed=0)
    assert 0.3 < result["mean"] < 0.42
    assert result["2-means"] > 0.4
    for name in ("trimmed", "filter", "trimmed 2-means"):
        assert result[name] < 0.01
