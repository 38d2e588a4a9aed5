"""Lloyd's algorithm with an exchangeable centre, run from many initial labelings at once.

One iteration: every cluster's centre from its members, then every point to its nearest centre. An
empty cluster keeps its previous centre. All restarts advance together as one batch, in which a
cluster that several of them found, or that did not change, counts once; those that reached a fixed
point leave it. The restart with the least trimmed cost wins: the sum of squared
distances to the nearest centre over the best (1 - fraction) of the points, so that far-away
Byzantine clients do not decide which labeling is best.

Centres are rows of w numbers in a `Space`. For rules that average points these are the weights of
the points (`Points`, w = m); for others, the coordinates themselves (`Coordinates`, w = d).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.memory import check_memory
from tagma.strategies.clustering.clustering import Clustering
from tagma.strategies.clustering.weighted_centres import Points

_ENTRIES = 2**21
"""Members times clusters that a rule is given at a time: geometric medians hold dozens of such
arrays."""
_HELD = 8
"""Arrays of numbers for every point, cluster and restart that are held at a time."""


class Space(Protocol):
    """m points, and the form in which centres are written, as rows of w numbers."""

    mean: Array
    """The mean of all points in this form, shape (w,)."""

    def __len__(self) -> int:
        """The number m of points."""

    def squared_distances(self, centres: Array, /) -> Array:
        """||centre - point||^2 up to a common factor, (..., m), for centres of shape (..., w)."""

    def combine(self, centres: Array, /) -> Array:
        """The coordinates of the centres, shape (..., d)."""


@dataclass(frozen=True)
class Centres:
    """Centres of B non-empty clusters, shape (B, w), and which points their balls hold, (B, m)."""

    rows: Array
    within: Mask


CentreRule = Callable[[Any, Mask], Centres]
"""From points (in the rule's space) and members (B, m) to centres."""


def lloyd(
    vectors: Array,
    initial: Labels,
    rule: CentreRule,
    *,
    k: int,
    iterations: int,
    fraction: float,
    radius: float = np.inf,
    scale: float | None = None,
    space: Callable[[Array], Space] = Points,
) -> Clustering:
    """The best clustering over the initial labelings, shape (restarts, m)."""
    restarts, m = initial.shape
    check_restarts(m, k, restarts)
    points = space(vectors)
    centres = np.tile(points.mean, (restarts, k, 1))
    within = np.ones((restarts, k, m), dtype=bool)
    history = [initial.astype(np.int64)]
    settled_after = np.full(restarts, iterations)
    active = np.arange(restarts)
    for iteration in range(iterations):
        labels = history[-1].copy()
        members = _members(labels[active], k)
        renewed: Mask = np.asarray(members.any(axis=2))
        if iteration > 0:
            renewed &= (members != _members(history[-2][active], k)).any(axis=2)
        centres[active], within[active] = _centres(
            points, rule, members, renewed, centres[active], within[active]
        )
        labels[active] = _nearest(points, centres[active])[0]
        unchanged = (labels[active] == history[-1][active]).all(axis=1)
        settled_after[active[unchanged]] = iteration
        active = active[~unchanged]
        history.append(labels)
        if not len(active):
            break

    costs = _trimmed_costs(points, centres, fraction)
    # Restarts often find the same clusters; which of them wins must not depend on rounding.
    winner = int(np.flatnonzero(costs <= costs.min() * (1 + 1e-9))[0])
    labels = history[-1][winner]
    used = int(settled_after[winner])
    taken = np.array([step[winner] for step in history[: used + 1]])
    centre_history, trimmed_history = _replay(points, rule, taken, k)
    return Clustering(
        labels=labels,
        centres=points.combine(centres[winner]),
        trimmed=~within[winner, labels, np.arange(m)],
        radius=np.full(k, radius),
        history=taken,
        iterations=used,
        stopped="iteration limit" if winner in active else "fixed point",
        scale=scale,
        centre_history=points.combine(centre_history),
        trimmed_history=trimmed_history,
    )


def check_restarts(m: int, k: int, restarts: int) -> None:
    """A `TagmaError` if so many labelings of m points do not fit into memory."""
    check_memory(
        8 * _HELD * restarts * k * m,
        f"{restarts} restarts of a clustering of {m:,} clients into {k} clusters",
        "take fewer by clustering.restarts, or clustering=density",
    )


def _replay(points: Space, rule: CentreRule, history: Labels, k: int) -> tuple[Array, Mask]:
    """The centres of every labeling of one restart, and which points they trim.

    Costs as much as that restart did; keeping them for all restarts would cost much more memory.
    """
    steps, m = history.shape
    members = _members(history, k)
    filled: Mask = np.asarray(members.any(axis=2))
    centres, within = _centres(
        points, rule, members, filled, np.tile(points.mean, (steps, k, 1)), np.ones_like(members)
    )
    for step, cluster in np.argwhere(~filled):
        if step > 0:
            centres[step, cluster] = centres[step - 1, cluster]
            within[step, cluster] = within[step - 1, cluster]
    return centres, ~within[np.arange(steps)[:, None], history, np.arange(m)]


def _members(labels: Labels, k: int) -> Mask:
    """Who belongs to each of the clusters, shape (R, k, m), for labels of shape (R, m)."""
    return labels[:, None, :] == np.arange(k)[:, None]


def _centres(
    points: Space, rule: CentreRule, members: Mask, renewed: Mask, centres: Array, within: Mask
) -> tuple[Array, Mask]:
    """Apply the rule to the clusters of all restarts that `renewed` names, to each only once."""
    if renewed.any():
        chosen = members[renewed]
        first, same = np.unique(
            np.packbits(chosen, axis=1), axis=0, return_index=True, return_inverse=True
        )[1:]
        few = max(1, _ENTRIES // chosen.shape[1])
        parts = [rule(points, chosen[first[at : at + few]]) for at in range(0, len(first), few)]
        centres[renewed] = np.concatenate([part.rows for part in parts])[same]
        within[renewed] = np.concatenate([part.within for part in parts])[same]
    return centres, within


def _nearest(points: Space, centres: Array) -> tuple[Labels, Array]:
    """The nearest centre of every point and the squared distance to it, shapes (R, m)."""
    squared = points.squared_distances(centres)
    labels = squared.argmin(axis=1)
    return labels, np.take_along_axis(squared, labels[:, None, :], axis=1)[:, 0]


def _trimmed_costs(points: Space, centres: Array, fraction: float) -> Array:
    kept = max(1, round((1 - fraction) * len(points)))
    squared = np.sort(_nearest(points, centres)[1], axis=1)
    return squared[:, :kept].sum(axis=1)
