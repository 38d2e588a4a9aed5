"""Stage II: robust clustering of (m, d) arrays, without Flower, torch or Hydra."""

from strategies.aggregation.scale import estimate_scale
from strategies.clustering.clustering import Clusterer, Clustering
from strategies.clustering.density import density
from strategies.clustering.edge_cutting import edge_cutting
from strategies.clustering.initial import random_labels
from strategies.clustering.iterative_filtering import iterative_filtering
from strategies.clustering.kgeomedians import kgeomedians
from strategies.clustering.kmeans import kmeans
from strategies.clustering.kmedians import kmedians
from strategies.clustering.ktrimmed_means import ktrimmed_means
from strategies.clustering.symmetric_filtering import (
    symmetric_filtering,
    symmetric_iterative_filtering,
)
from strategies.clustering.trimmed_kmeans import trimmed_kmeans

__all__ = [
    "Clusterer",
    "Clustering",
    "density",
    "edge_cutting",
    "estimate_scale",
    "iterative_filtering",
    "kgeomedians",
    "kmeans",
    "kmedians",
    "ktrimmed_means",
    "random_labels",
    "symmetric_filtering",
    "symmetric_iterative_filtering",
    "trimmed_kmeans",
]
