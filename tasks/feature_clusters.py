"""The true clusters of a feature matrix, as the paper makes them.

Points closer than gamma are joined; the connected components with at least `min_cluster` points are
the clusters, and the points of the others are unused. Clusters depend on the data and these
settings only, never on the seed, and are found once in a process.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.kept import kept
from tagma.strategies.numerics.spanning_tree import SpanningTree
from tagma.tasks.feature_data import Scaling, load_features
from tagma.tasks.feature_graph import threshold_components
from tagma.tasks.pairwise_distances import Features
from tagma.tasks.progress_log import log
from tagma.tasks.single_linkage import (
    components_below,
    large_components,
    search_gamma,
    single_linkage,
)


@dataclass(frozen=True)
class FeatureClusters:
    """The clusters of a feature matrix of N points."""

    features: Features
    """Shape (N, d)."""
    gamma: float
    members: tuple[Labels, ...]
    """The points of each cluster, the largest cluster first."""
    unused: Labels
    """The points of no cluster."""
    centres: Array
    """The mean of each cluster, shape (K, d)."""


@kept(maxsize=8)
def feature_clusters(
    data: str, scaling: Scaling, gamma: float | None, clusters: int, min_cluster: int
) -> FeatureClusters:
    """The clusters at gamma, or at the one that the search finds."""
    features = load_features(data, scaling)
    if gamma is None:
        tree = _tree(data, scaling)
        gamma = search_gamma(tree, clusters, min_cluster)
        if gamma is None:
            most = int(large_components(tree, min_cluster).max())
            raise SettingError(
                "task.clusters", clusters,
                f"no gamma gives so many components of at least task.min_cluster={min_cluster} "
                f"points; at most {most}",
            )  # fmt: skip
        labels = components_below(tree, gamma)
    else:
        labels = threshold_components(features, gamma)
    sizes = np.bincount(labels)
    large = int(np.count_nonzero(sizes >= min_cluster))
    if large != clusters:
        raise SettingError(
            "task.clusters", clusters,
            f"at task.gamma={gamma:g} there are {large} components of at least "
            f"task.min_cluster={min_cluster} points, the largest of {_list(sizes[:10])}; "
            "task.gamma=null searches for it",
        )  # fmt: skip
    members = tuple(np.flatnonzero(labels == k) for k in range(clusters))
    unused = np.flatnonzero(labels >= clusters)
    centres = np.array([features[points].mean(axis=0, dtype=np.float64) for points in members])
    log.info(
        "at gamma=%g, clusters of %s points; %d unused", gamma, _list(sizes[:large]), len(unused)
    )
    return FeatureClusters(features, gamma, members, unused, centres)


@kept(maxsize=2)
def _tree(data: str, scaling: Scaling) -> SpanningTree:
    return single_linkage(load_features(data, scaling))


def _list(sizes: Labels) -> str:
    return ", ".join(str(size) for size in sizes)
