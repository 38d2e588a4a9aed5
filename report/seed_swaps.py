"""Whether seeds tell two defences apart: a randomisation test, seed by seed.

If two defences were alike, their runs of a seed could be swapped, all attacks together, and nobody
would know. Every pattern of swaps gives a difference of worst cases; the share of patterns whose
difference is at least as large as the one seen is the p-value (two-sided, exact up to 12 seeds;
beyond, of 4096 patterns drawn at random). So few seeds cannot tell: with 5, no p-value is below
2 / 32. Holm's correction pays for comparing several rivals.
"""

from collections.abc import Mapping
from math import ceil, log2

import numpy as np

from tagma.report.bootstrap import Array, worst_mean
from tagma.rng import stream

LEVEL = 0.05
_EXACT = 12


def swap_test(first: Array, second: Array) -> float | None:
    """The p-value of two samples over the same seeds and conditions, all of them known.

    None below 6 seeds, and where a run diverged: infinity has no difference to compare.
    """
    seeds = len(first)
    if seeds < least_seeds(1) or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    swapped = _patterns(seeds)
    kept = 1.0 - swapped
    one = worst_mean((kept @ first + swapped @ second) / seeds)
    other = worst_mean((swapped @ first + kept @ second) / seeds)
    sizes = np.abs(other - one)
    return float(np.mean(sizes >= sizes[0] * (1 - 1e-9)))


def least_seeds(rivals: int) -> int:
    """How many seeds can tell a defence from so many rivals; with fewer no p-value is so low."""
    return ceil(log2(2 * max(rivals, 1) / LEVEL))


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p-values of several rivals, corrected so that all claims hold together."""
    corrected: dict[str, float] = {}
    largest = 0.0
    for i, name in enumerate(sorted(values, key=lambda name: values[name])):
        largest = max(largest, min(1.0, (len(values) - i) * values[name]))
        corrected[name] = largest
    return corrected


def _patterns(seeds: int) -> Array:
    """Which seeds are swapped, none of them first: (patterns, seeds)."""
    if seeds <= _EXACT:
        numbers = np.arange(2**seeds)[:, None]
        return ((numbers >> np.arange(seeds)) & 1).astype(np.float64)
    drawn = stream(0, "swaps").integers(0, 2, size=(2**_EXACT, seeds)).astype(np.float64)
    drawn[0] = 0.0
    return drawn
