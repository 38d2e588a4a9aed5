"""Settings are checked also for those who import the functions, as ValueErrors that name them."""

from functools import partial

import numpy as np
import pytest

from tagma.strategies import aggregation as ours

ROWS = np.random.default_rng(0).normal(size=(12, 4))
LARGE = np.zeros((300, 300), np.float32)


@pytest.mark.parametrize(
    ("function", "settings", "message"),
    [
        (ours.trimmed_mean, {"beta": 0.6}, "beta=0.6: must be less than 0.5"),
        (ours.trimmed_mean, {"beta": 0.5}, "beta=0.5: must be less than 0.5"),
        (ours.trimmed_mean, {"beta": -0.1}, "beta=-0.1: must be at least 0"),
        (ours.trimmed_mean, {"beta": np.nan}, "beta=nan: must be at least 0"),
        (ours.trimmed_mean, {"beta": "0.1"}, "beta='0.1': must be a number"),
        (ours.krum, {"fraction": 0.9}, "fraction=0.9: must be less than 0.5"),
        (ours.meamed, {"fraction": 0.9}, "fraction=0.9: must be less than 0.5"),
        (ours.monna, {"fraction": 0.1, "reference": 4}, r"reference: shape \(\d+,\) is needed"),
        (ours.nnm, {"fraction": 0.5}, "fraction=0.5: must be less than 0.5"),
        (ours.clipping, {"radius": -1}, "radius=-1: must be more than 0"),
        (ours.clipping, {"radius": None}, "radius=None: must be a number"),
        (ours.centered_clipping, {"radius": 0.0}, "radius=0.0: must be more than 0"),
        (ours.centered_clipping, {"steps": 2.5}, "steps=2.5: must be a whole number"),
        (ours.bucketing, {"size": 0}, "size=0: must be at least 1"),
        (
            ours.iterative_filtering,
            {"factor": 1.3, "removable": 1},
            "removable=1: must be less than 1",
        ),
        (
            partial(ours.with_spectral_filter, ours.mean),
            {"removable": 1.5},
            "removable=1.5: must be less",
        ),
        (ours.spectral_filter, {"sigma": 0, "factor": 1.3, "removable": 0.3}, "sigma=0: must be"),
    ],
)
@pytest.mark.parametrize("rows", [ROWS, LARGE], ids=["small", "large"])
def test_a_setting_beyond_its_bounds_is_named_with_the_bound(function, settings, message, rows):
    with pytest.raises(ValueError, match=message):
        function(rows, **settings) if not isinstance(function, partial) else function(**settings)


def test_numbers_of_numpy_none_and_what_is_not_given_are_allowed():
    assert ours.trimmed_mean(ROWS, beta=np.float32(0.25)).estimate.shape == (4,)
    assert ours.bucketing(ROWS, size=np.int64(3)).rows.shape == (4, 4)
    assert ours.centered_clipping(ROWS, radius=None).estimate.shape == (4,)
    assert ours.clipping(ROWS).rows.shape == ROWS.shape
