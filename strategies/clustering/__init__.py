"""Stage II: robust clustering of (m, d) arrays, without Flower, torch or Hydra."""

from tagma.strategies.clustering.clustering import Clusterer, Clustering, OwnNoise
from tagma.strategies.clustering.density.density import density
from tagma.strategies.clustering.edge_cutting import edge_cutting
from tagma.strategies.clustering.initial_labels import random_labels
from tagma.strategies.clustering.kfiltered_means import kfiltered_means
from tagma.strategies.clustering.kgeomedians import kgeomedians
from tagma.strategies.clustering.kmeans import kmeans
from tagma.strategies.clustering.kmedians import kmedians
from tagma.strategies.clustering.ktrimmed_means import ktrimmed_means
from tagma.strategies.clustering.symmetric_filtering import (
    symmetric_filtering,
    symmetric_iterative_filtering,
)
from tagma.strategies.clustering.trimmed_kmeans import trimmed_kmeans
from tagma.strategies.numerics.noise_scale import estimate_scale

__all__ = [
    "Clusterer",
    "Clustering",
    "OwnNoise",
    "density",
    "edge_cutting",
    "estimate_scale",
    "kfiltered_means",
    "kgeomedians",
    "kmeans",
    "kmedians",
    "ktrimmed_means",
    "random_labels",
    "symmetric_filtering",
    "symmetric_iterative_filtering",
    "trimmed_kmeans",
]
