"""Whether numbers fall into two groups, and which: exact 2-means and the gap statistic."""

import numpy as np

from tagma.arrays import Array, Mask
from tagma.rng import stream

_SAMPLES = 20
_FEW = 3
_TINY = 1e-12


def upper_group(values: Array, seed: int = 0) -> Mask:
    """The greater of two groups of numbers, shape (m,); nobody where they are one group.

    They are more than one where the gap statistic (Tibshirani et al., 2001) says so, against 20
    samples of as many uniform numbers: Gap(1) < Gap(2) - s_2. In one dimension, 2-means is exact:
    the best of all m - 1 splits of the sorted numbers. Cost O(m log m).
    """
    nobody = np.zeros(len(values), dtype=bool)
    if len(values) < _FEW or not (span := float(np.ptp(values))) > 0:
        return nobody
    scaled = (values - values.min()) / span
    uniform = stream(seed, "gap statistic", len(values)).uniform(size=(_SAMPLES, len(values)))
    uniform.sort(axis=1)
    one, two = (np.log(np.maximum(sums, _TINY)) for sums in _within(uniform)[:2])
    own_one, own_two, split = _within(np.sort(scaled)[None])
    gap_one = one.mean() - np.log(max(own_one[0], _TINY))
    gap_two = two.mean() - np.log(max(own_two[0], _TINY))
    if gap_one >= gap_two - two.std() * np.sqrt(1 + 1 / _SAMPLES):
        return nobody
    return values > np.sort(values)[split[0]]


def _within(ordered: Array) -> tuple[Array, Array, Array]:
    """Sums of squares within one group and within two, and where the first of the two ends.

    For every row of numbers in ascending order.
    """
    m = ordered.shape[1]
    sums, squares = np.cumsum(ordered, axis=1), np.cumsum(ordered**2, axis=1)
    sizes = np.arange(1, m)
    low = squares[:, :-1] - sums[:, :-1] ** 2 / sizes
    high = squares[:, -1:] - squares[:, :-1] - (sums[:, -1:] - sums[:, :-1]) ** 2 / (m - sizes)
    both = low + high
    split = both.argmin(axis=1)
    return squares[:, -1] - sums[:, -1] ** 2 / m, both.min(axis=1), split
