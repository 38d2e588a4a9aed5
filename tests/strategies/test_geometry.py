"""Distances from one Gram matrix, wherever the rows lie."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from strategies.aggregation import geometry
from strategies.aggregation.geometry import Geometry
from strategies.aggregation.rows import NotFiniteError, Rows


def noise(m=20, d=70_000, seed=0):
    return np.random.default_rng(seed).standard_normal((m, d), dtype=np.float32)


HONEST_FROM = {"liars near 0, others not": 9, "one astronomic": 1}
"""Distances between liars are known less well where they are far from the honest rows."""


def somewhere(where):
    rows = noise()
    if where == "far":
        rows += np.float32(100)
    if where == "far in few columns":
        rows[:, 1000:1010] += np.float32(1e5)
    if where == "liars far":
        rows[:9] *= np.float32(1e4)
    if where == "liars near 0, others not":
        rows[9:] += np.float32(50)
    if where == "one astronomic":
        rows[0] = 1e30
    return rows


@pytest.mark.parametrize(
    "where",
    [
        "around 0", "far", "far in few columns", "liars far", "liars near 0, others not",
        "one astronomic",
    ],
)  # fmt: skip
def test_distances_are_those_between_the_rows(where):
    rows = somewhere(where)
    found = Geometry(Rows(rows))
    expected = cdist(rows, rows, "sqeuclidean") / found.unit**2
    near = slice(HONEST_FROM.get(where, 0), None)
    assert np.allclose(found.pairwise()[near, near], expected[near, near], rtol=2e-5)


def copies_of(monkeypatch, rows):
    """How often rows are copied to be centred."""
    centred = geometry._near_sample
    calls = []
    monkeypatch.setattr(geometry, "_near_sample", lambda *args: calls.append(1) or centred(*args))
    Geometry(Rows(rows))
    return len(calls)


def test_rows_around_zero_are_not_copied(monkeypatch):
    assert copies_of(monkeypatch, noise()) == 0


@pytest.mark.parametrize("where", ["far", "far in few columns"])
def test_rows_with_an_offset_are_centred(monkeypatch, where):
    assert copies_of(monkeypatch, somewhere(where)) == 1


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
