"""Trimmed K-means on two symmetric clusters, beside the recursion that the theorem proves.

m = 20,000 points in R^20, alpha = 0.01 of outliers, three in ten initial labels wrong, 3 log m
iterations. With ||theta*|| = 16 times the noise the theorem allows A_0 up to 0.335, and its
assumption on the start holds. That assumption wants r > 5.12 even for A_0 = 0, where theta* itself
misclusters less than one point in a million: A_1 > 0 can hardly be seen where the theorem speaks.
||theta*|| = 3 is for the formula alone, where A_s does not vanish. The theorem also wants alpha <=
beta < c / d with a c that it does not state; here alpha d = 0.2.
"""

from math import ceil, log

import numpy as np

from tagma.bench.experiments.stage_two_bounds import (
    two_cluster_recursion,
    two_cluster_snr,
    two_cluster_start,
)
from tagma.bench.experiments.symmetric_mixture import draw_mixture
from tagma.rng import stream
from tagma.strategies.clustering import trimmed_kmeans

POINTS, DIM, ALPHA, WRONG = 20_000, 20, 0.01, 0.3
ITERATIONS = ceil(3 * log(POINTS))
"""From here on the theorem's second claim speaks."""


def two_cluster_bound_trial(*, seed: int, signal: float) -> dict[str, float]:
    """A_s as measured and as bounded, for every iteration s; after a fixed point it stays."""
    source = stream(seed, "two-cluster bound")
    mixture = draw_mixture(
        source, points=POINTS, dim=DIM, signal=signal, alpha=ALPHA, outliers="cloud", distance=30.0
    )
    true = (mixture.signs > 0).astype(np.int64)
    initial = np.where(source.random(POINTS) < WRONG, 1 - true, true)
    found = trimmed_kmeans(
        mixture.points, initial[None], k=2, iterations=ITERATIONS, fraction=0.1, radius=2.0
    )
    honest = ~mixture.outlier
    curve = [float((labels != true)[honest].mean()) for labels in found.history]
    curve += curve[-1:] * (ITERATIONS + 1 - len(curve))
    count = int(honest.sum())
    r = two_cluster_snr(signal=signal, dim=DIM, honest=count)
    bound = two_cluster_recursion(curve[0], r=r, honest=count, steps=ITERATIONS)
    return (
        {"r": r, "allowed start": two_cluster_start(r=r, honest=count)}
        | {f"A_{s}": value for s, value in enumerate(curve)}
        | {f"bound_{s}": value for s, value in enumerate(bound)}
    )
