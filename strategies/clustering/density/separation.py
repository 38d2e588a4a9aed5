"""How far two groups are apart, so that nobody is judged by a direction that its own noise made.

Every client of both is projected on the line through the two centres *without that client*, and
its place measured from the middle. The mean places of the two groups differ by the distance of
their centres, in units of the deviation within a group or of its clients' own noise, whichever is
larger: a part that was cut from a normal cluster has less deviation than noise. The halves of one
cluster differ by less than 3, whatever its shape and dimension; two clusters 5 deviations apart by
4 to 5. A few clients halfway change this little.
"""

from math import inf, sqrt

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.projection import right_singular
from tagma.strategies.numerics.noise_edge import edge_of

_SWEEPS = 10
"""Of two means, after a cut."""
_TRACY_WIDOM = 2.02
"""One in a hundred of normal clusters exceeds it."""


def separation(first: Array, second: Array, scales: tuple[Array, Array]) -> float:
    """How far two groups are apart, in deviations; `scales` are the clients' own noise.

    Cost O(M d).
    """
    centres = first.mean(axis=0), second.mean(axis=0)
    line = centres[0] - centres[1]
    squared = float(line @ line)
    if min(len(first), len(second)) < 2 or not squared:
        return 0.0
    gap = variance = 0.0
    sides = zip((first, second), centres, (line, -line), scales, strict=True)
    for rows, centre, toward, own in sides:
        others = len(rows) - 1
        away = rows - centre
        along, square = away @ toward / others, np.einsum("ij,ij->i", away, away) / others
        # Without the client, the line is `toward` - away / others.
        length = np.sqrt(np.maximum(squared - 2 * along + square / others, 1e-12 * squared))
        places = (squared / 2 + others * along - (1 + 0.5 / others) * square) / length
        gap += float(places.mean())
        variance += max(float(places.var()) * len(rows) / others, float(np.mean(own**2))) / 2
    if not variance:
        return inf if gap > 0 else 0.0
    return gap / sqrt(variance)


def most_inside(first: Array, second: Array, basis_first: Array, basis_second: Array,
                scales: tuple[Array, Array]) -> bool:  # fmt: skip
    """Whether most of the difference of two groups' centres, but for noise, is in some directions.

    `basis_first` and `basis_second` are the groups in these directions.
    """
    noise = sum(float(np.mean(own**2)) / len(own) for own in scales)
    line, inside = first.mean(axis=0) - second.mean(axis=0), basis_first.mean(axis=0)
    inside = inside - basis_second.mean(axis=0)
    whole = float(line @ line) - noise * len(line)
    return float(inside @ inside) - noise * len(inside) > whole / 2


def beyond_noise(residuals: Array, times: float) -> Array:
    """The directions in which a cluster spreads more than so many noise edges, shape (p, d)."""
    m, d = residuals.shape
    values, directions = right_singular(residuals)
    return directions[: int((values > times * edge_of(values[: m - 1], m - 1, d)).sum())]


def stretch_of(residuals: Array, scales: Array) -> float:
    """The largest deviation of a cluster, in units of what one in a hundred exceeds.

    Every client in units of its noise. By the law of Tracy and Widom (Johnstone, 2001).
    """
    m, d = residuals.shape
    relative = residuals / np.maximum(scales, np.median(scales) / 2)[:, None]
    largest = right_singular(relative)[0][0] ** 2
    edge = sqrt(m - 1) + sqrt(d)
    width = edge * (1 / sqrt(m - 1) + 1 / sqrt(d)) ** (1 / 3)
    return float(sqrt(largest / (edge**2 + _TRACY_WIDOM * width)))


def two_means(rows: Array, direction: Array) -> Labels:
    """In which of two parts every row is, from a cut across the direction at the mean."""
    along = rows @ direction
    parts = (along > along.mean()).astype(np.int64)
    for _ in range(_SWEEPS):
        if parts.all() or not parts.any():
            break
        first, second = rows[parts == 0].mean(axis=0), rows[parts == 1].mean(axis=0)
        line = second - first
        moved = (rows @ line > (first + second) @ line / 2).astype(np.int64)
        if np.array_equal(moved, parts):
            break
        parts = moved
    return parts
