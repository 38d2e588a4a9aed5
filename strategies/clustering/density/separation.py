"""How far two groups are apart, so that nobody is judged by a direction that its own noise made.

Every client of both is projected on the line through the two centres *without that client*, and
its place measured from the middle. The mean places of the two groups differ by the distance of
their centres, in units of the deviation within a group or of its clients' own noise, whichever is
larger: a part that was cut from a normal cluster has less deviation than noise. The halves of one
cluster differ by less than 3, whatever its shape and dimension; two clusters 5 deviations apart by
4 to 5. A few clients halfway change this little.
"""

from collections.abc import Sequence
from math import inf, sqrt

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.density.projection import right_singular
from tagma.strategies.numerics.noise_edge import edge_of

_SWEEPS = 10
_OF_OTHERS = 2.0
"""The variance of a group is at most so many times that of most of its clients."""
"""Of two means, after a cut."""
_TRACY_WIDOM = 2.02
"""One in a hundred of normal clusters exceeds it."""


class Group:
    """Clients that may be a cluster, as the tests below need them."""

    def __init__(self, rows: Array, weights: Array, variance: float) -> None:
        """From vectors, shape (M, d), how much each counts, (M,), and their entries' variance."""
        self.total = float(weights.sum())
        self.size = self.total**2 / float(weights @ weights)
        self.weights = weights
        self.centre = weights @ rows / self.total
        self.away = rows - self.centre
        self.squares = np.einsum("ij,ij->i", self.away, self.away)
        self.variance = variance


def separation(first: Group, second: Group) -> float:
    """How far two groups are apart, in deviations. Cost O(M d)."""
    line = first.centre - second.centre
    if min(len(first.away), len(second.away)) < 2 or not line @ line:
        return 0.0
    gap = variance = 0.0
    for group, toward in ((first, line), (second, -line)):
        places = _places(group, toward[None])
        mean, spread = (float(found[0]) for found in _mean_and_spread(group, places))
        gap += mean
        # A few of other clusters should not count.
        spread = max(min(spread, of_most(places[:, 0]) ** 2), spread / _OF_OTHERS)
        variance += max(spread, group.variance) / 2
    if not variance:
        return inf if gap > 0 else 0.0
    return gap / sqrt(variance)


def apart_at_least(groups: Sequence[Group]) -> Array:
    """A number that the separation of any two groups does not fall below if it is positive, (K, K).

    It is what the separation would be if all the spread of the groups counted. Cost O(m K d), in
    products of matrices, and nothing is sorted.
    """
    k = len(groups)
    centres = np.array([group.centre for group in groups])
    gaps, variances = np.zeros((k, k)), np.zeros((k, k))
    for number, group in enumerate(groups):
        lines = group.centre - centres
        others = np.flatnonzero(np.einsum("ij,ij->i", lines, lines))
        if len(group.away) > 1 and len(others):
            mean, spread = _mean_and_spread(group, _places(group, lines[others]))
            gaps[number, others] = mean
            variances[number, others] = np.maximum(spread, group.variance) / 2
    tiny = np.finfo(np.float64).tiny
    found: Array = (gaps + gaps.T) / np.sqrt(np.maximum(variances + variances.T, tiny))
    found[np.array([len(group.away) < 2 for group in groups], dtype=bool)] = 0
    return np.minimum(found, found.T)


def _places(group: Group, lines: Array) -> Array:
    """Where every client is on these lines, (L, d), each of them without that client: (M, L).

    A line leads from the centre of another group to this one's; its middle is at 0.
    """
    along = group.away @ lines.T
    squared = np.einsum("ij,ij->i", lines, lines)
    part = (group.weights / (group.total - group.weights))[:, None]
    squares = group.squares[:, None]
    # Without the client, the line is `line` - part * away.
    length = np.sqrt(np.maximum(squared - 2 * part * along + part**2 * squares, 1e-12 * squared))
    places: Array = (squared / 2 + along - (1 + part / 2) * part * squares) / length
    return places


def _mean_and_spread(group: Group, places: Array) -> tuple[Array, Array]:
    """The mean and the variance of a group's clients on each line, shape (L,)."""
    means: Array = group.weights @ places / group.total
    spreads: Array = group.weights @ (places - means) ** 2 / group.total
    return means, spreads * (group.size / (group.size - 1))


def of_most(places: Array) -> float:
    """The deviation of most of these numbers."""
    middle = len(places) // 2
    away = np.sort(np.abs(places - np.sort(places)[middle]))
    return 1.4826 * float(away[middle])


def most_inside(whole: tuple[Group, Group], inside: tuple[Group, Group]) -> bool:
    """Whether most of the difference of two groups, but for noise, is in some directions.

    `inside` are the same groups in these directions.
    """
    excess = []
    for first, second in (inside, whole):
        line = first.centre - second.centre
        noise = first.variance / first.size + second.variance / second.size
        excess.append(float(line @ line) - noise * len(line))
    return excess[0] > excess[1] / 2


def beyond_noise(residuals: Array, times: float) -> Array:
    """The directions in which a cluster spreads more than so many noise edges, shape (p, d)."""
    m, d = residuals.shape
    squares = np.linalg.eigvalsh(smaller_gram(residuals))[::-1]
    values = np.sqrt(np.maximum(squares[: m - 1], 0))
    beyond = int((values > times * edge_of(values, m - 1, d)).sum())
    return right_singular(residuals)[1][:beyond] if beyond else residuals[:0]


def smaller_gram(rows: Array) -> Array:
    """The products of the rows, or of the columns if these are fewer."""
    products: Array = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    return products


def stretch_of(residuals: Array, scales: Array) -> float:
    """The largest deviation of a cluster, in units of what one in a hundred exceeds.

    Every client in units of its noise. By the law of Tracy and Widom (Johnstone, 2001).
    """
    m, d = residuals.shape
    floor = max(float(np.median(scales)) / 2, 1e-150)
    relative = residuals / np.maximum(scales, floor)[:, None]
    largest = float(np.linalg.eigvalsh(smaller_gram(relative))[-1])
    edge = sqrt(m - 1) + sqrt(d)
    width = edge * (1 / sqrt(m - 1) + 1 / sqrt(d)) ** (1 / 3)
    return sqrt(max(largest, 0) / (edge**2 + _TRACY_WIDOM * width))


def oblong(residuals: Array) -> float:
    """How unlike each other the sides are to which a cluster's clients are scattered; 0: round.

    Divided by `by_chance` it is in standard deviations.

    The angles between clients without noise of their own in common are right ones, give or take
    1 / sqrt(d): the spatial signs' test of sphericity (Zou et al., 2014). It sees many weak
    directions, as of several merged clusters, where none is beyond the noise edge.
    """
    m, d = residuals.shape
    lengths = np.sqrt(np.einsum("ij,ij->i", residuals, residuals))
    signs = residuals / np.maximum(lengths, 1e-150)[:, None]
    own, whole, pairs = np.einsum("ij,ij->i", signs, signs), signs.sum(axis=0), m * (m - 1)
    if not pairs:
        return 0.0
    # The sums over pairs follow from those over all, without m x m cosines.
    mean = (float(whole @ whole) - float(own.sum())) / pairs
    squares = float((smaller_gram(signs) ** 2).sum()) - float((own**2).sum())
    return d * (squares / pairs - mean**2) - 1


def by_chance(size: int) -> float:
    """The standard deviation of `oblong` for so many clients that are scattered to all sides."""
    return 2 / sqrt(max(size * (size - 1), 1))


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


def without_noise(largest: float, ratio: float) -> float:
    """The largest variance in any direction, from that of a sample; 1 if noise explains that.

    `ratio` is dimensions over rows; noise has variance 1 (Baik, Ben Arous and Peche, 2005).
    """
    if largest <= (1 + sqrt(ratio)) ** 2:
        return 1.0
    half = (largest + 1 - ratio) / 2
    return half + sqrt(half**2 - largest)
