import numpy as np
import pytest

from tagma.strategies.numerics.noise_edge import edge_of, noise_edge


def test_the_edge_is_that_of_many_rows_of_noise():
    assert noise_edge(100, 100) == 2
    assert noise_edge(400, 100) == 1.5
    rows = np.random.default_rng(0).normal(size=(400, 100))
    assert np.linalg.norm(rows, 2) / np.sqrt(400) == pytest.approx(1.5, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(200, 200), (400, 100), (60, 300), (30, 10)])
def test_the_smallest_quarter_of_singular_values_tells_the_largest_of_noise(shape):
    source = np.random.default_rng(1)
    ratios = []
    for _ in range(20):
        values = np.linalg.svd(3 * source.normal(size=shape), compute_uv=False)
        ratios.append(values[0] / edge_of(values, *shape))
    assert np.median(ratios) == pytest.approx(1, abs=0.12)


def test_a_signal_does_not_move_the_edge_far():
    rows = np.random.default_rng(2).normal(size=(100, 60))
    noise = np.linalg.svd(rows, compute_uv=False)
    rows[:50, 0] += 20
    both = np.linalg.svd(rows, compute_uv=False)
    assert edge_of(both, 100, 60) == pytest.approx(edge_of(noise, 100, 60), rel=0.05)
    assert both[0] > 3 * edge_of(both, 100, 60)
