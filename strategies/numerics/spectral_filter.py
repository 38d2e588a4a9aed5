"""The iterative filter for robust means (Diakonikolas et al., 2017; Steinhardt et al., 2018).

Byzantine clients move a mean far only if they also stretch the rows in some direction. So, while
the largest variance of the rows exceeds what noise explains, those far out in its direction are
dropped; the mean of the others is the estimate. Its error is O(sigma sqrt(alpha)) + O(sigma sqrt(d
/ n)): unlike with medians, the part of the Byzantine clients does not grow with d. This is
`IterFilter` of the paper's Algorithm 3, and its stage III for high dimension (Yin et al., 2019).

The variance of n rows in R^d may be `factor` times that of noise. The standard deviation of noise
is the larger of

- the Marchenko-Pastur edge of isotropic noise, sigma (1 + sqrt(d / n)), and
- what the rows themselves show in the direction: the length of the shortest interval that holds
  half of them, or the share 1 - removable if that is less, in units of that of a standard normal
  variable. By this, noise that is stronger in some directions than in others passes.

Distances in the direction are measured from where the rows are densest, not from their mean or
median: scattered Byzantine clients do no harm there even if they are the majority, as can be in the
first iterations of a clustering. All rows beyond the reach of noise, sqrt(2 log n) standard
deviations, are dropped at once; where there are none, the farthest hundredth of the rows.

The result is the same for rotated, moved, scaled and reordered rows.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.special import ndtri

from tagma.arrays import Array, Labels, Mask
from tagma.counts import ceil_of, floor_of
from tagma.strategies.numerics.noise_edge import noise_edge
from tagma.strategies.numerics.parameter_validation import checker
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.top_eigenpair import Spread


@dataclass(frozen=True)
class Filtered:
    """A robust mean, and how it was found."""

    estimate: Array
    """The mean of the kept rows, shape (d,)."""
    kept: Mask
    """Shape (n,)."""
    deviation: float
    """The largest standard deviation of the kept rows in any direction."""
    bound: float
    """What it was compared with at last."""
    iterations: int
    """How many times rows were dropped."""
    stopped: str
    """Why it stopped: "within the bound" or "removal limit"."""


def spectral_filter(
    rows: Array,
    *,
    sigma: Annotated[float, Gt(0)],
    factor: Annotated[float, Gt(0)],
    removable: Annotated[float, Ge(0), Lt(1)],
) -> Filtered:
    """The robust mean of rows whose noise has standard deviation `sigma` in every entry.

    At most floor(removable * n) rows are dropped. Breakdown point min(removable, 1/2). Cost of an
    iteration: O(n p^2) with p = min(n, d) up to 500, beyond it some dozens of products with the
    rows.
    """
    checker(spectral_filter)({"sigma": sigma, "factor": factor, "removable": removable})
    whole = Rows(rows)
    everything = np.arange(len(rows))
    return filter_subset(
        whole, Spread(whole), everything, sigma=sigma, factor=factor, removable=removable
    )


def filter_subset(
    rows: Rows, spread: Spread, subset: Labels, *, sigma: float, factor: float, removable: float
) -> Filtered:
    """The same for the rows numbered in `subset`; `spread` is that of all rows."""
    least = len(subset) - floor_of(removable, len(subset))
    core = min(0.5, 1 - removable)
    iterations = 0
    while True:
        deviation, projections = spread.leading(subset)
        edge = sigma * noise_edge(len(subset), spread.dimension)
        noise = max(edge, _scale(projections, core))
        bound = sqrt(factor) * noise
        if deviation <= bound or len(subset) == least:
            break
        subset = np.delete(subset, _far_out(projections, noise, len(subset) - least))
        iterations += 1
    kept = np.isin(np.arange(len(rows)), subset)
    return Filtered(
        estimate=rows.combine(kept / len(subset)),
        kept=kept,
        deviation=deviation,
        bound=bound,
        iterations=iterations,
        stopped="within the bound" if deviation <= bound else "removal limit",
    )


def _scale(values: Array, share: float) -> float:
    """The standard deviation, if the shortest interval with the share is that of normal values."""
    count = ceil_of(share, len(values))
    ordered = np.sort(values)
    length = (ordered[count - 1 :] - ordered[: len(values) - count + 1]).min()
    return float(length / (2 * ndtri((1 + share) / 2)))


def _far_out(projections: Array, noise: float, at_most: int) -> Labels:
    """The rows to drop: all beyond the reach of noise, or else the farthest hundredth."""
    distances = np.abs(projections - _densest(projections, 2 * noise))
    beyond = int((distances > sqrt(2 * log(len(distances))) * noise).sum())
    count = min(beyond or ceil(len(distances) / 100), at_most)
    return np.argsort(-distances, kind="stable")[:count]


def _densest(values: Array, reach: float) -> float:
    """The median of the values within reach of the value that has most others there."""
    ordered = np.sort(values)
    first = np.searchsorted(ordered, ordered - reach, "left")
    after = np.searchsorted(ordered, ordered + reach, "right")
    from_median = np.abs(ordered - np.median(ordered))
    best = np.lexsort((from_median, first - after))[0]
    return float(np.median(ordered[first[best] : after[best]]))
