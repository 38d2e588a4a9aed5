"""Each client's own noise, measured without knowing its cluster and without believing anybody.

The centres of K clusters differ in a subspace of K - 1 dimensions. In all other directions they
agree, so that what a client shows there is its noise alone:

    s_i^2 = ||(I - P) (w_i - mid)||^2 / f,   f = d - p degrees of freedom,

borrowing b = 10 degrees from the median over all clients, s_0^2, so that it stands where f is
small: (f s_i^2 + b s_0^2) / (f + b). A client that claims to be precise, by a small s_i, only
narrows the region in which it is believed; nobody else's changes while fewer than half do it.

Clients far noisier than most are outside: beyond four spreads of logarithms above the median, the
spread from the lower quartile, where noisy Byzantine clients are not, and within limits.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, sqrt

import numpy as np
from scipy.special import chdtri, fdtri

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.constants import Constants

_ENOUGH = 4
"""With fewer degrees of freedom, the median noise follows from distances within the clusters."""
_SPREADS = 4.0
_HARMLESS = 2.5
"""Noise of so many times the median is never too much: who has it counts for a third."""
_QUARTILE = 0.6745
"""The upper quartile of a standard normal variable."""
_KNOWN = 1e9
"""Degrees of freedom of a variance that is known."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the entries of local models."""

    scales: Array
    """Every client's, shape (m,)."""
    typical: float
    """Their median s_0, or what stands for it."""
    limit: float
    """Clients with more are outside."""
    freedom: int
    """In so many dimensions they were measured; the rest is borrowed."""


def noise_outside(
    squares: Array,
    freedom: int,
    typical: float,
    constants: Constants,
    members: Labels | None = None,
) -> Noise:
    """From squared lengths outside the signal subspace, shape (m,), and its codimension.

    `typical` is used where the codimension is too small to tell. The measure are the `members`,
    if they are most clients: in few dimensions noisy clients outside would raise the median.
    """
    known = slice(None) if members is None or 2 * len(members) <= len(squares) else members
    if enough(freedom):
        typical = sqrt(max(float(np.median(squares[known])), 0) / median_of_chi_square(freedom))
    scales = shrunk(squares, freedom, typical, constants)
    return Noise(scales, typical, _limit(scales[known], freedom, constants), freedom)


def shrunk(squares: Array, freedom: int, typical: float, constants: Constants) -> Array:
    """Each client's own noise from these squared lengths, with what it borrows."""
    borrowed = constants.borrowed
    total = np.maximum(squares, 0) + borrowed * typical**2
    scales: Array = np.sqrt(total / (freedom + borrowed))
    return scales


def _limit(scales: Array, freedom: int, constants: Constants) -> float:
    if not freedom:
        return inf
    ordered = np.sort(scales)
    quartile, middle = float(ordered[len(scales) // 4]), float(ordered[len(scales) // 2])
    if not quartile:
        return inf if not middle else constants.noisiest * middle
    spread = log(middle / quartile) / _QUARTILE
    borrowed = constants.borrowed
    harmless = sqrt((freedom * _HARMLESS**2 + borrowed) / (freedom + borrowed))
    least = max(sqrt(reach(freedom, _KNOWN, constants) / freedom), harmless)
    return float(middle * min(max(exp(_SPREADS * spread), least), max(constants.noisiest, least)))


def enough(freedom: int) -> bool:
    """Whether so many degrees of freedom tell the median noise."""
    return freedom >= _ENOUGH


@lru_cache(maxsize=1024)
def median_of_chi_square(freedom: int) -> float:
    """Of a sum of so many squares of standard normal variables."""
    return float(chdtri(freedom, 0.5))


@lru_cache(maxsize=1024)
def reach(dimension: int, freedom: float, constants: Constants) -> float:
    """The squared distance in so many dimensions, in units of a client's variance, that is allowed.

    The variance is known with `freedom` and the borrowed degrees: Fisher's distribution.
    """
    if not dimension:
        return 0.0
    rare = fdtri(dimension, freedom + constants.borrowed, 0.999)
    return float(constants.room * dimension * rare)
