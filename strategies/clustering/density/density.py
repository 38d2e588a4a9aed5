"""Density clustering in a robust projection: nothing is known in advance.

Neither the number of clusters nor the noise nor the share of Byzantine clients is given; assumed is
only that most clients are honest and that every cluster has at least `smallest` of them.

1. Set copies aside: clients far closer to each other than is usual (`copies`).
2. Project on the directions in which clients differ by more than noise (`projection`).
3. Modes there, by mean shift from every client (`modes`).
4. Clusters with balls in the full space (`polish`, `ball_radius`).
5. Drop, merge and split until nothing changes (`revision`).

Clients outside every ball are marked as trimmed. Byzantine clients who make up a cluster of the
usual scatter look like an honest one: it is listed as one more, and harms nobody else.
Two clusters closer than about 3 (1 + sqrt(d / m)) standard deviations are seen as one.

Deterministic, and the same for reordered, moved, scaled and rotated vectors. Cost
O(m^2 d + m K d) with m <= d, else O(m^2 p + m d^2), p <= 20; about 10 ms for m = d = 100.
"""

from math import ceil, sqrt
from typing import Annotated

import numpy as np
from annotated_types import Ge
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.clustering import Clustering, of_finite_points
from tagma.strategies.clustering.density.constants import DEFAULTS, Constants
from tagma.strategies.clustering.density.copies import Copies, find_copies
from tagma.strategies.clustering.density.polish import OUTSIDE, Fit
from tagma.strategies.clustering.density.revision import find_clusters


@of_finite_points
def density(
    vectors: Array,
    *,
    k: Annotated[int, Ge(1)] | None = None,
    smallest: Annotated[int, Ge(2)] | None = None,
    constants: Constants = DEFAULTS,
) -> Clustering:
    """All clusters, the largest first; with `k` only the k largest, the clients of others trimmed.

    `smallest` is the least number of clients of a cluster; by default 5 % of all, at least 4.
    Clusters of copies that no ball of another holds come last, with a reason in `suspect`. Where
    there is no group at all, everyone is in one cluster around the coordinate-wise median.
    """
    smallest = smallest or least(len(vectors), constants)
    copies = find_copies(vectors, smallest, constants)
    alone = np.delete(np.arange(len(vectors)), [row for group in copies for row in group.rows])
    fit = find_clusters(vectors[alone], smallest, constants)
    if not fit.k:
        return _one_cluster(vectors, smallest)
    largest = _by_size(fit)[:k]
    rank = np.full(fit.k, OUTSIDE)
    rank[largest] = np.arange(len(largest))
    members = np.full(len(vectors), OUTSIDE)
    members[alone] = np.where(fit.members >= 0, rank[fit.members], OUTSIDE)
    centres, radii = fit.centres[largest], fit.balls.radii[largest]
    labels = np.where(members >= 0, members, cdist(vectors, centres).argmin(axis=1))
    apart = [group for group in copies if not _held(group, centres, radii)]
    for group in apart if k is None else apart[: k - len(largest)]:
        labels[group.rows] = members[group.rows] = len(centres)
        centres, radii = np.vstack([centres, group.centre]), np.append(radii, group.radius)
    doubts = len(centres) - len(largest)
    return Clustering(
        labels=labels,
        centres=centres,
        trimmed=members == OUTSIDE,
        radius=radii,
        history=labels[None],
        iterations=0,
        stopped=f"{len(largest)} clusters of at least {smallest} clients",
        scale=fit.balls.pooled / sqrt(vectors.shape[1]),
        suspect=(None,) * len(largest) + ("too tight: copies of one vector",) * doubts,
    )


def least(clients: int, constants: Constants = DEFAULTS) -> int:
    """The size of the smallest cluster that is looked for among so many clients."""
    return max(constants.smallest, ceil(constants.smallest_share * clients - 1e-9))


def _by_size(fit: Fit) -> Labels:
    """The clusters, largest first; among equals the tightest, so that no order of rows matters."""
    return np.lexsort((fit.balls.scales, -fit.sizes))


def _held(group: Copies, centres: Array, radii: Array) -> bool:
    return bool((np.linalg.norm(centres - group.centre, axis=1) <= radii).any())


def _one_cluster(vectors: Array, smallest: int) -> Clustering:
    """Nothing was found: a model for everyone, and a warning."""
    everyone = np.zeros(len(vectors), dtype=np.int64)
    return Clustering(
        labels=everyone,
        centres=np.median(vectors, axis=0)[None],
        trimmed=np.zeros(len(vectors), dtype=bool),
        radius=np.array([np.inf]),
        history=everyone[None],
        iterations=0,
        stopped=f"no group of at least {smallest} clients",
        suspect=(f"no group of at least {smallest} clients was found",),
    )
