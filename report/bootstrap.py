"""How a mean over seeds would vary with other seeds: the bootstrap, with runs that diverged in it.

Seeds are drawn anew with replacement, jointly for all that is compared, since runs of one seed
share their data. A mean with a diverged run in it is infinite. A run that is missing (NaN) is left
out of the mean; a mean of none is NaN.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagma.rng import stream

Array = NDArray[np.float64]
_RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """A figure and the middle 95 % of its draws; the ends are NaN for fewer than two seeds."""

    value: float
    low: float
    high: float

    def turned(self, sign: int) -> "Interval":
        """The same of the numbers with the other sign, if it is -1."""
        return self if sign == 1 else Interval(-self.value, -self.high, -self.low)

    @property
    def known(self) -> bool:
        """Whether there are ends."""
        return not (np.isnan(self.low) or np.isnan(self.high))


def draws(seeds: int) -> NDArray[np.int64]:
    """The seeds of every draw, always the same: (2000, seeds)."""
    return stream(0, "bootstrap").integers(0, seeds, size=(_RESAMPLES, seeds))


def resampled_means(sample: Array) -> Array:
    """The means over the first axis (seeds), first of all, then of every draw: (1 + draws, ...)."""
    seeds = len(sample)
    weights = np.ones((1, seeds))
    if seeds > 1:
        chosen = draws(seeds)
        drawn = np.zeros((len(chosen), seeds))
        np.add.at(drawn, (np.arange(len(chosen))[:, None], chosen), 1.0)
        weights = np.vstack([weights, drawn])
    flat = sample.reshape(seeds, -1)
    there, diverged = ~np.isnan(flat), np.isinf(flat)
    sums = weights @ np.where(there & ~diverged, flat, 0.0)
    counts = weights @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(weights @ diverged > 0, np.inf, sums / counts)
    return means.reshape(-1, *sample.shape[1:])


def interval(drawn: Array) -> Interval:
    """The figure, which comes first, with the ends of its draws.

    Each end is one of the draws, since between a number and infinity there is nothing.
    """
    value, rest = float(drawn[0]), drawn[1:]
    rest = rest[~np.isnan(rest)]
    if not len(rest):
        return Interval(value, np.nan, np.nan)
    low, high = np.quantile(rest, [0.025, 0.975], method="inverted_cdf")
    return Interval(value, float(low), float(high))


def worst_interval(drawn: Array, least: float = 0.0, most: float = np.inf) -> Interval:
    """The figure, with the ends of the basic bootstrap, for a maximum of means: within bounds.

    The maximum of resampled means is above that of the sample's on average, as the latter is above
    the true one; the basic bootstrap (twice the figure less a quantile) takes that off again. A
    figure that is infinite has no such ends: there they are those of the draws.
    """
    plain = interval(drawn)
    if not plain.known or np.isinf(plain.value):
        return plain
    low, high = 2 * plain.value - plain.high, 2 * plain.value - plain.low
    return Interval(plain.value, min(max(least, low), most), min(max(least, high), most))


def worst_mean(means: Array) -> Array:
    """The largest mean of each row; NaN where none is known."""
    worst = np.max(np.where(np.isnan(means), -np.inf, means), axis=1, initial=-np.inf)
    return np.where(np.isneginf(worst), np.nan, worst)
