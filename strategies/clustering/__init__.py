"""Stage II: robust clustering of (m, d) arrays, without Flower, torch or Hydra."""

from strategies.clustering.clustering import Clusterer, Clustering
from strategies.clustering.geometric_median import geometric_median
from strategies.clustering.initial import random_labels
from strategies.clustering.kgeomedians import kgeomedians
from strategies.clustering.kmeans import kmeans
from strategies.clustering.scale import estimate_scale
from strategies.clustering.trimmed_kmeans import trimmed_kmeans

__all__ = [
    "Clusterer",
    "Clustering",
    "estimate_scale",
    "geometric_median",
    "kgeomedians",
    "kmeans",
    "random_labels",
    "trimmed_kmeans",
]
