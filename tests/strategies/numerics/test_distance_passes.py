"""Geometric medians of many rows by passes over them, beside those from a Gram matrix."""

from importlib import import_module

import numpy as np
import pytest

from tagma.strategies.aggregation import geometric_median
from tagma.strategies.numerics import distance_passes as passes_module
from tagma.strategies.numerics.distance_passes import Passes, passes_over
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.row_blocks import NotFiniteError, Rows
from tagma.strategies.numerics.weiszfeld import geometric_medians

geometric_median_module = import_module("tagma.strategies.aggregation.geometric_median")


def normal(m=600, d=1000, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=(m, d)).astype(dtype)


def with_byzantine(rows):
    rows = rows.copy()
    rows[:180] = 5 + 3 * rows[:180]
    return rows


def with_offset(rows):
    return rows + 100 * normal(1, rows.shape[1], seed=1, dtype=rows.dtype)


def with_a_row_in_the_middle(rows):
    rows = rows.copy()
    rows[7] = rows[8:].mean(axis=0) + 1e-3 * rows[7]
    return rows


def with_a_far_row(rows):
    rows = rows.copy()
    rows[3] *= 1e9
    return rows


def with_a_row_beyond(rows):
    rows = rows.copy()
    rows[3] = 1e30
    return rows


def with_byzantine_among_the_sample(rows):
    """Most of the five rows whose median is the origin."""
    rows = with_offset(rows)
    rows[[0, 120, 240]] = 1e8
    return rows


def with_an_offset_in_one_column(rows):
    """One of those that are not looked at."""
    rows = rows.copy()
    rows[:, 500] += 1e6
    return rows


def along_a_line(rows):
    """Where Weiszfeld's iteration takes many steps."""
    along = np.random.default_rng(2).exponential(size=(len(rows), 1)) ** 3
    return (along * rows[0] + 0.01 * rows).astype(rows.dtype)


CASES = [
    normal, with_byzantine, with_offset, with_a_row_in_the_middle, with_a_far_row,
    with_a_row_beyond, with_byzantine_among_the_sample, with_an_offset_in_one_column, along_a_line,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_the_median_is_that_of_the_gram_matrix(monkeypatch, case, dtype):
    rows = normal(dtype=dtype) if case is normal else case(normal(dtype=dtype))
    found = geometric_median(rows)
    monkeypatch.setattr(passes_module, "_FEWEST", 10**9)
    exact = geometric_median(rows.astype(np.float64))
    scale = np.median(np.linalg.norm(rows.astype(np.float64) - exact.estimate, axis=1))
    rounding = 3e-7 * np.linalg.norm(exact.estimate) if dtype == np.float32 else 0
    assert np.linalg.norm(found.estimate - exact.estimate) <= 1e-6 * scale + rounding
    assert found.stopped == "converged"
    assert np.isclose(found.weights.sum(), 1)


def count_gram_matrices(monkeypatch):
    made = []
    monkeypatch.setattr(Geometry, "__init__", counted(made, Geometry.__init__))
    return made


def counted(made, build):
    def init(self, rows, *, exact=False):
        made.append(exact)
        build(self, rows, exact=exact)

    return init


@pytest.mark.parametrize(
    ("case", "exact"),
    [
        (normal, []),
        (with_byzantine, []),
        (with_offset, []),
        (with_a_far_row, []),
        (with_a_row_in_the_middle, [False, True]),
        (with_a_row_beyond, [False]),
        (with_byzantine_among_the_sample, [False]),
    ],
)
def test_a_gram_matrix_is_made_only_where_passes_are_not_enough(monkeypatch, case, exact):
    made = count_gram_matrices(monkeypatch)
    geometric_median(normal() if case is normal else case(normal()))
    assert made == exact


def test_many_iterations_are_left_to_the_gram_matrix(monkeypatch):
    starts = []

    def spy(points, members, start, *args, newton, masses):
        starts.append((type(points), start is not None, newton))
        return geometric_medians(points, members, start, *args, newton=newton, masses=masses)

    monkeypatch.setattr(geometric_median_module, "geometric_medians", spy)
    result = geometric_median(along_a_line(normal(dtype=np.float64)))
    assert starts == [(Passes, False, False), (Geometry, True, True)]
    assert result.iterations > 600 // 16


def test_an_origin_that_byzantine_clients_have_moved_is_noticed_in_float64(monkeypatch):
    rows = normal(1280, 240, dtype=np.float64)
    rows[[0, 256, 512]] = 1e9
    made = count_gram_matrices(monkeypatch)
    assert np.abs(geometric_median(rows).estimate).max() < 1
    assert made == [False]


def test_centred_passes_cost_more_so_they_are_fewer():
    assert passes_over(Rows(normal())).limit == 600 // 16
    assert passes_over(Rows(with_offset(normal()))).limit == 600 // 64


@pytest.mark.parametrize("case", [normal, with_offset])
def test_products_are_those_of_the_gram_matrix(case):
    rows = Rows(
        normal(dtype=np.float64) if case is normal else with_offset(normal(dtype=np.float64))
    )
    weights = np.random.default_rng(3).dirichlet(np.ones(600), size=2)
    assert np.allclose(
        passes_over(rows).squared_distances(weights), Geometry(rows).squared_distances(weights)
    )


def test_passes_are_for_many_rows_that_are_read_as_they_are():
    assert passes_over(Rows(normal())) is not None
    assert passes_over(Rows(normal(100, 10_000))) is None
    assert passes_over(Rows(normal(300, 10))) is None
    assert passes_over(Rows(normal(300))) is not None
    assert passes_over(Rows(with_offset(normal(300)))) is None
    assert passes_over(Rows(np.asfortranarray(normal()))) is None
    assert passes_over(Rows(normal(), chosen=np.arange(590))) is None
    assert passes_over(Rows(normal(), mixing=np.eye(600, dtype=np.float32))) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_and_removed(value):
    rows = normal()
    rows[5, 777] = value
    with pytest.raises(NotFiniteError), np.errstate(all="raise"):
        passes_over(Rows(rows, checked=False))
    result = geometric_median(rows)
    assert result.removed == 1
    assert result.weights[5] == 0
    assert np.allclose(
        result.estimate, geometric_median(np.delete(rows, 5, axis=0)).estimate, atol=1e-6
    )
