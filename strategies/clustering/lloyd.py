"""Lloyd's algorithm with an exchangeable centre, run from many initial labelings at once.

One iteration: every cluster's centre from its members, then every point to its nearest centre. An
empty cluster keeps its previous centre. All restarts advance together as one batch in weight space
(see `Points`); those that reached a fixed point leave the batch. The restart with the least trimmed
cost wins: the sum of squared distances to the nearest centre over the best (1 - assumed_fraction)
of the points, so that far-away liars do not decide which labeling is best.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from strategies.clustering.clustering import Clustering
from strategies.clustering.points import Points
from tagma.arrays import Array, Labels, Mask


@dataclass(frozen=True)
class Centres:
    """Centres of B non-empty clusters as weights (B, m), and which points their balls hold."""

    weights: Array
    within: Mask


CentreRule = Callable[[Points, Mask, Array], Centres]
"""From points, members (B, m) and the previous weights (B, m) to new centres."""


def lloyd(
    vectors: Array,
    initial: Labels,
    rule: CentreRule,
    *,
    k: int,
    iterations: int,
    assumed_fraction: float,
    radius: float = np.inf,
    scale: float | None = None,
) -> Clustering:
    """The best clustering over the initial labelings, shape (restarts, m)."""
    points = Points(vectors)
    restarts, m = initial.shape
    weights = np.full((restarts, k, m), 1 / m)
    within = np.ones((restarts, k, m), dtype=bool)
    history = [initial.astype(np.int64)]
    settled_after = np.full(restarts, iterations)
    active = np.arange(restarts)
    for iteration in range(iterations):
        labels = history[-1].copy()
        members = labels[active, None, :] == np.arange(k)[:, None]
        weights[active], within[active] = _centres(
            points, rule, members, weights[active], within[active]
        )
        labels[active] = _nearest(points, weights[active])[0]
        unchanged = (labels[active] == history[-1][active]).all(axis=1)
        settled_after[active[unchanged]] = iteration
        active = active[~unchanged]
        history.append(labels)
        if not len(active):
            break

    costs = _trimmed_costs(points, weights, assumed_fraction)
    # Restarts often find the same clusters; which of them wins must not depend on rounding.
    winner = int(np.flatnonzero(costs <= costs.min() * (1 + 1e-9))[0])
    labels = history[-1][winner]
    used = int(settled_after[winner])
    return Clustering(
        labels=labels,
        centres=points.combine(weights[winner]),
        trimmed=~within[winner, labels, np.arange(m)],
        radius=np.full(k, radius),
        history=np.array([step[winner] for step in history[: used + 1]]),
        iterations=used,
        stopped="iteration limit" if winner in active else "fixed point",
        scale=scale,
    )


def _centres(
    points: Points, rule: CentreRule, members: Mask, weights: Array, within: Mask
) -> tuple[Array, Mask]:
    """Apply the rule to all non-empty clusters of all restarts in one batch."""
    filled = members.any(axis=2)
    new = rule(points, members[filled], weights[filled])
    weights[filled], within[filled] = new.weights, new.within
    return weights, within


def _nearest(points: Points, weights: Array) -> tuple[Labels, Array]:
    """The nearest centre of every point and the squared distance to it, shapes (R, m)."""
    squared = points.squared_distances(weights, points.products(weights))
    labels = squared.argmin(axis=1)
    return labels, np.take_along_axis(squared, labels[:, None, :], axis=1)[:, 0]


def _trimmed_costs(points: Points, weights: Array, assumed_fraction: float) -> Array:
    kept = max(1, round((1 - assumed_fraction) * len(points)))
    squared = np.sort(_nearest(points, weights)[1], axis=1)
    return squared[:, :kept].sum(axis=1)
