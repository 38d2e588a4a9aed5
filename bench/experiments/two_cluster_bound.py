"""Trimmed K-means on two symmetric clusters, beside the recursion that the theorem proves.

m = 20,000 points in R^20, ||theta*|| = 8 times the noise, alpha = 0.01 of outliers, three in ten
initial labels wrong. The theorem wants alpha below c / d with a c it does not state; this is its
spirit.
"""

import numpy as np

from bench.experiments.bounds import two_cluster_recursion, two_cluster_snr
from bench.experiments.symmetric_mixture import draw_mixture
from strategies.clustering import trimmed_kmeans
from tagma.streams import stream

POINTS, DIM, SIGNAL, ALPHA, WRONG, ITERATIONS = 20_000, 20, 8.0, 0.01, 0.3, 6


def two_cluster_bound_trial(*, seed: int) -> dict[str, float]:
    """A_s as measured and as bounded, for every iteration s."""
    source = stream(seed, "two-cluster bound")
    mixture = draw_mixture(
        source, points=POINTS, dim=DIM, signal=SIGNAL, alpha=ALPHA, outliers="cloud", distance=30.0
    )
    true = (mixture.signs > 0).astype(np.int64)
    initial = np.where(source.random(POINTS) < WRONG, 1 - true, true)
    found = trimmed_kmeans(
        mixture.points, initial[None], k=2, iterations=ITERATIONS, assumed_fraction=0.1, radius=2.0
    )
    honest = ~mixture.outlier
    curve = [float((labels != true)[honest].mean()) for labels in found.history]
    curve += curve[-1:] * (ITERATIONS + 1 - len(curve))
    count = int(honest.sum())
    r = two_cluster_snr(signal=SIGNAL, dim=DIM, honest=count)
    bound = two_cluster_recursion(curve[0], r=r, honest=count, steps=ITERATIONS)
    return (
        {"r": r}
        | {f"A_{s}": value for s, value in enumerate(curve)}
        | {f"bound_{s}": value for s, value in enumerate(bound)}
    )
