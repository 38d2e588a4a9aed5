"""A geometric median found in coordinates is the one that is found from a Gram matrix."""

import numpy as np
import pytest

from tagma.strategies.aggregation import geometric_median
from tagma.strategies.aggregation.geometric_median import _FEW

CASES = {
    "round": lambda rng: rng.standard_normal((100, 100)),
    "in a plane": lambda rng: rng.standard_normal((60, 2)),
    "far from the origin": lambda rng: rng.standard_normal((50, 20)) + 1e4,
    "an outlier": lambda rng: np.vstack([rng.standard_normal((40, 10)), np.full((1, 10), 1e30)]),
    "two groups": lambda rng: rng.standard_normal((51, 30)) + 50 * (np.arange(51) < 20)[:, None],
    "copies": lambda rng: rng.standard_normal((9, 5))[rng.integers(9, size=40)],
    "unequal spreads": lambda rng: rng.standard_normal((80, 40)) * np.logspace(0, -3, 40),
    "three rows": lambda rng: rng.standard_normal((3, 3)),  # of two, all between are medians
}


@pytest.mark.parametrize("weighted", [False, True], ids=["equal weights", "weights"])
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_few_and_many_entries_have_the_same_median(make, weighted):
    rng = np.random.default_rng(3)
    rows = make(rng)
    weights = rng.uniform(0.5, 2, len(rows)) if weighted else None
    wide = np.hstack([rows, np.zeros((len(rows), 1 + _FEW // len(rows)))])
    few, many = (geometric_median(x, weights=weights) for x in (rows, wide))
    typical = np.median(np.linalg.norm(rows - few.estimate, axis=1))
    apart = np.linalg.norm(few.estimate - many.estimate[: rows.shape[1]])
    assert apart <= 2e-6 * max(typical, 1e-12)
    assert few.stopped == many.stopped == "converged"
    assert few.weights.sum() == pytest.approx(1)
    assert few.estimate == pytest.approx(few.weights @ rows, rel=1e-9, abs=1e-9 * typical)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_an_unusable_row_among_few_is_removed_first(bad):
    rows = np.random.default_rng(0).standard_normal((30, 6))
    hostile = np.vstack([rows, np.full((1, 6), 1.0)])
    hostile[-1, 2] = bad
    found = geometric_median(hostile)
    assert found.removed == 1
    assert np.array_equal(found.estimate, geometric_median(rows).estimate)
