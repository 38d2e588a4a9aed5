"""Distances from one Gram matrix, wherever the rows lie."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagma.strategies.numerics import gram_matrix as geometry
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import NotFiniteError, Rows


def noise(m=20, d=70_000, seed=0):
    return np.random.default_rng(seed).standard_normal((m, d), dtype=np.float32)


HONEST_FROM = {"Byzantine clients near 0, others not": 9, "one astronomic": 1}
"""Distances between Byzantine rows are known less well where they are far from honest ones."""


def somewhere(where):
    rows = noise()
    if where == "far":
        rows += np.float32(100)
    if where == "far in few columns":
        rows[:, 1000:1010] += np.float32(1e5)
    if where == "not near in few columns":
        rows[:, 1000:1010] += np.float32(400)
    if where == "Byzantine clients far":
        rows[:9] *= np.float32(1e4)
    if where == "Byzantine clients near 0, others not":
        rows[9:] += np.float32(50)
    if where == "one astronomic":
        rows[0] = 1e30
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [
        "around 0", "far", "far in few columns", "not near in few columns", "Byzantine clients far",
        "Byzantine clients near 0, others not", "one astronomic",
    ],
)  # fmt: skip
def test_distances_are_those_between_the_rows(where):
    rows = somewhere(where)
    found = Geometry(Rows(rows))
    expected = cdist(rows, rows, "sqeuclidean")
    near = slice(HONEST_FROM.get(where, 0), None)
    assert np.allclose(found.pairwise()[near, near], expected[near, near], rtol=2e-5)


def grams_of(monkeypatch, rows):
    """How often a Gram matrix is made of rows as they are, and of centred ones."""
    calls = []
    for name in ("_as_they_are", "_near_sample"):
        made = getattr(geometry, name)

        def count(*args, name=name, made=made):
            calls.append(name)
            return made(*args)

        monkeypatch.setattr(geometry, name, count)
    Geometry(Rows(rows))
    return calls.count("_as_they_are"), calls.count("_near_sample")


def test_rows_around_zero_are_not_copied(monkeypatch):
    assert grams_of(monkeypatch, noise()) == (1, 0)


def test_rows_with_an_offset_are_centred_at_once(monkeypatch):
    assert grams_of(monkeypatch, somewhere("far")) == (0, 1)


@pytest.mark.parametrize("where", ["far in few columns", "not near in few columns"])
def test_an_offset_in_few_columns_is_noticed_in_the_end(monkeypatch, where):
    assert grams_of(monkeypatch, somewhere(where)) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "lay",
    [
        np.asfortranarray,
        lambda rows: np.repeat(rows, 3, axis=1)[:, ::3],
        lambda rows: rows[:, ::-1].copy()[:, ::-1],
        lambda rows: rows[::-1].copy()[::-1],
    ],
)
def test_it_does_not_matter_how_rows_lie_in_memory(lay, dtype):
    rows = noise(d=20_000).astype(dtype)
    apart = lay(rows)
    assert np.array_equal(apart, rows)
    weights = np.full(20, 1 / 20)
    found, expected = Geometry(Rows(apart)), Geometry(Rows(rows))
    assert np.allclose(found.pairwise(), expected.pairwise(), rtol=1e-5)
    assert np.allclose(found.combine(weights), expected.combine(weights), atol=1e-6)


@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (5, 123), (19, 69_999)])
def test_rows_that_were_not_checked_are_refused_if_they_may_not_be_finite(
    value, offset, row, column
):
    rows = noise() + np.float32(offset)
    rows[row, column] = value
    with pytest.raises(NotFiniteError):
        Geometry(Rows(rows, checked=False))
