"""Rules that measure from 0 do so from the model that clients were sent."""

import numpy as np
import pytest

from tagma.strategies import aggregation as ours
from tagma.strategies.aggregation import with_pre_aggregators, with_spectral_filter
from tests.strategies.aggregation.aggregators import ALL, FROM_ZERO, PRE

ORIGIN = np.array([100.0, -50.0, 7.0, 0.0])
UPDATES = np.random.default_rng(0).normal(size=(11, 4)) + 0.5
UPDATES[3] = 40


@pytest.mark.parametrize("name", sorted(FROM_ZERO))
def test_models_are_aggregated_by_their_differences_from_it(name):
    rule = ALL[name]
    expected = rule(UPDATES)
    found = rule(UPDATES + ORIGIN, origin=ORIGIN)
    assert np.allclose(found.estimate, expected.estimate + ORIGIN)
    assert np.array_equal(found.kept, expected.kept)
    assert not np.array_equal(rule(UPDATES + ORIGIN).kept, expected.kept)


def test_so_does_whatever_stands_around_such_a_rule():
    aggregate = with_spectral_filter(ALL["cge"], removable=0.0)
    expected = aggregate(UPDATES).estimate + ORIGIN
    assert np.allclose(aggregate(UPDATES + ORIGIN, origin=ORIGIN).estimate, expected)


@pytest.mark.parametrize("before", ["clipping", "arc"])
def test_what_is_clipped_before_a_rule_is_the_update(before):
    aggregate = with_pre_aggregators([PRE[before]], ours.mean)
    expected = PRE[before](UPDATES).rows.mean(axis=0) + ORIGIN
    assert np.allclose(aggregate(UPDATES + ORIGIN, origin=ORIGIN).estimate, expected)


@pytest.mark.parametrize("origin", [np.ones(3), np.full(4, np.inf), "abc"])
def test_an_origin_of_another_shape_or_not_finite_is_refused(origin):
    with pytest.raises(ValueError, match="origin: "):
        ALL["cge"](UPDATES, origin=origin)


def test_rows_that_are_not_finite_and_precision_are_as_without_one():
    rows = (UPDATES + ORIGIN).astype(np.float32)
    rows[2, 1] = np.nan
    found = ALL["signguard"](rows, origin=ORIGIN)
    assert found.removed == 1
    assert found.estimate.dtype == np.float32
    assert not found.kept[2]
