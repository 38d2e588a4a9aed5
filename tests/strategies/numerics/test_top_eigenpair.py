import numpy as np
import pytest

from tagma.strategies.numerics import top_eigenpair as module
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.top_eigenpair import Spread

WAYS = {
    "gram": (40, 70, 500),
    "codeviation": (70, 40, 500),
    "lanczos, wide": (40, 70, 30),
    "lanczos, tall": (70, 40, 30),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def shape(request, monkeypatch):
    """Numbers of rows and columns, for each way to find the direction."""
    *shape, dense = request.param
    monkeypatch.setattr(module, "_DENSE", dense)
    return shape


def spiked(n, d, seed=0):
    """Rows with a distinct largest deviation, far from the origin."""
    source = np.random.default_rng(seed)
    return source.normal(size=(n, d)) + 6 * np.outer(source.normal(size=n), np.eye(d)[0]) + 30


def test_agrees_with_a_full_eigendecomposition(shape):
    rows = spiked(*shape)
    subset = np.flatnonzero(np.arange(len(rows)) % 20)
    values, vectors = np.linalg.eigh(np.cov(rows[subset].T, bias=True))
    centred = rows[subset] - rows[subset].mean(axis=0)
    deviation, projections = Spread(Rows(rows)).leading(subset)
    assert deviation == pytest.approx(np.sqrt(values[-1]), rel=1e-8)
    expected = centred @ vectors[:, -1]
    assert np.allclose(projections * np.sign(projections @ expected), expected, atol=1e-4)


def test_by_hand():
    rows = np.array([[0.0, 0.0, 7.0], [3.0, 4.0, 7.0], [-3.0, -4.0, 7.0]])
    deviation, projections = Spread(Rows(rows)).leading(np.arange(3))
    assert deviation == pytest.approx(np.sqrt(50 / 3))
    assert np.allclose(np.abs(projections), [0, 5, 5])
    assert projections[1] == pytest.approx(-projections[2])
    deviation, projections = Spread(Rows(rows)).leading(np.array([0, 1]))
    assert deviation == pytest.approx(5 / 2)


def test_the_same_rows_give_the_same_numbers_to_the_last_bit(shape):
    rows = spiked(*shape)
    (one, first), (two, second) = (
        Spread(Rows(rows)).leading(np.arange(len(rows))) for _ in range(2)
    )
    assert one == two
    assert np.array_equal(first, second)


def test_a_far_away_origin_costs_no_digits(shape):
    rows = np.round(spiked(*shape), 3)
    everything = np.arange(len(rows))
    moved = Spread(Rows(rows + 2.0**27)).leading(everything)[0]
    assert moved == pytest.approx(Spread(Rows(rows)).leading(everything)[0], rel=1e-7)


def test_equal_rows_do_not_spread(shape):
    deviation, projections = Spread(Rows(np.full(shape, 3.0))).leading(np.arange(shape[0]))
    assert deviation == 0
    assert not projections.any()


def test_astronomic_rows_do_not_overflow_nor_blur_the_others(shape):
    rows = spiked(*shape)
    everyone = np.vstack([rows, np.full((1, shape[1]), 1e150), np.full((1, shape[1]), -1e150)])
    spread = Spread(Rows(everyone))
    deviation, projections = spread.leading(np.arange(len(everyone)))
    assert np.isfinite(deviation)
    assert np.isfinite(projections).all()
    without = np.arange(len(rows))
    assert spread.leading(without)[0] == pytest.approx(
        Spread(Rows(rows)).leading(without)[0], rel=1e-9
    )
