"""The best bipartition, by hand and against all others."""

import numpy as np
import pytest

from tagma.strategies.clustering.bipartition import bipartition


def test_the_halves_have_the_least_similarity_across():
    updates = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0], [-0.6, -0.8]])
    other, similarity = bipartition(updates)
    assert other.tolist() == [False, False, False, True, True]
    assert similarity == 0  # of the third and the fourth


@pytest.mark.parametrize("seed", range(5))
def test_no_other_bipartition_is_better(seed):
    updates = np.random.default_rng(seed).standard_normal((6, 3))
    updates /= np.linalg.norm(updates, axis=1)[:, None]
    similarities = updates @ updates.T
    sides = [np.array([code >> i & 1 for i in range(6)], dtype=bool) for code in range(1, 32)]
    best = min(similarities[np.ix_(side, ~side)].max() for side in sides)
    other, similarity = bipartition(updates)
    assert similarity == pytest.approx(best)
    assert similarities[np.ix_(other, ~other)].max() == pytest.approx(best)
