"""The plane of the picture: the leading directions of most vectors, in little memory."""

import tracemalloc

import numpy as np
import pytest

from tagma.server.results.principal_plane import places_on, principal_plane


@pytest.mark.parametrize("shape", [(40, 9), (9, 40), (60, 200)])
def test_the_directions_are_those_of_a_full_decomposition(shape: tuple[int, int]) -> None:
    source = np.random.default_rng(0)
    vectors = source.normal(size=shape) + 6 * np.eye(3, shape[1])[np.arange(shape[0]) % 3] + 5
    origin, plane = principal_plane(vectors)
    rows = vectors - np.median(vectors, axis=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    exact = np.linalg.svd(rows * np.minimum(1, np.median(lengths) / lengths))[2][:2]
    assert np.allclose(origin, np.median(vectors, axis=0))
    assert np.linalg.svd(plane @ exact.T)[1] == pytest.approx([1, 1], abs=1e-3)
    assert np.allclose(places_on(plane, origin, vectors), (vectors - origin) @ plane.T)


def test_vectors_whose_squares_overflow_do_not_choose_the_plane() -> None:
    source = np.random.default_rng(0)
    honest = source.normal(size=(20, 6)) * [9, 5, 1, 1, 1, 1]
    huge = np.vstack([np.full((3, 6), 1e300), np.full((3, 6), -1.7e308)])
    _, plane = principal_plane(np.vstack([honest, huge]))
    assert np.allclose(plane @ plane.T, np.eye(2))
    diverged = np.array([[1.7e308], [-1.7e308]] * 4)
    assert np.isfinite(principal_plane(diverged)[1]).all()


def test_many_long_vectors_in_single_precision_need_little_memory() -> None:
    vectors = np.zeros((2000, 12000), dtype=np.float32)
    vectors[::3, 0], vectors[1::3, 1] = 5, 5
    tracemalloc.start()
    _, plane = principal_plane(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * vectors.nbytes
    assert np.linalg.norm(plane[:, :2], axis=1) == pytest.approx([1, 1], abs=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_plane_of_few_long_vectors_is_that_of_a_decomposition(dtype, monkeypatch):
    monkeypatch.setattr("tagma.server.results.principal_plane._BLOCK", 500)
    source = np.random.default_rng(3)
    vectors = source.normal(size=(30, 4000)) + 5 * source.normal(size=(30, 2)) @ source.normal(
        size=(2, 4000)
    )
    _, plane = principal_plane(vectors.astype(dtype))
    away = vectors - np.median(vectors, axis=0)
    away /= np.maximum(np.linalg.norm(away, axis=1), np.median(np.linalg.norm(away, axis=1)))[
        :, None
    ]
    exact = np.linalg.svd(away, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(plane @ exact.T), np.eye(2), atol=1e-3)
    np.testing.assert_allclose(plane @ plane.T, np.eye(2), atol=1e-6)


def test_vectors_on_a_line_have_no_second_direction():
    vectors = np.arange(-3.0, 4.0)[:, None] * np.ones((1, 50))
    _, plane = principal_plane(vectors)
    np.testing.assert_allclose(plane[0], np.full(50, 50**-0.5))
    np.testing.assert_array_equal(plane[1], 0)
