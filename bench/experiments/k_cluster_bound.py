"""Trimmed K-means on K clusters, beside the bound that the lemmas of the paper's appendix prove.

m = 200,000 points in R^10, K = 3 clusters at equal distances of 500 times the noise: r_1 = 288 is
above the 160 sqrt(K) = 277 that the proof asks for, and h gamma_1^2 above 500 K log h. A hundredth
of the points are Byzantine clients, all of them 1.1 sigma sqrt(d) from the first centre, on one
side of it: within the ball, as bad as Byzantine clients can be without being trimmed.
"""

from math import sqrt

import numpy as np

from tagma.bench.experiments.stage_two_bounds import (
    k_cluster_floor,
    k_cluster_recursion,
    k_cluster_snr,
)
from tagma.rng import stream
from tagma.server.results.cluster_scores import centre_error, clusterwise_misclustering
from tagma.strategies.clustering import trimmed_kmeans

POINTS, DIM, CLUSTERS, GAP, ALPHA, ITERATIONS = 200_000, 10, 3, 500.0, 0.01, 4
_BYZANTINE_AT = 1.1
"""Of sigma sqrt(d), from the centre."""


def k_cluster_bound_trial(
    *, seed: int, radius: float, wrong: float, points: int = POINTS
) -> dict[str, float]:
    """G_s^U and Lambda_s as measured and as bounded.

    `radius` is the C of the ball, `wrong` the share of initial labels that are.
    """
    source = stream(seed, "K-cluster bound")
    centres = GAP / sqrt(2) * np.eye(CLUSTERS, DIM)
    true = source.integers(0, CLUSTERS, size=points)
    rows = centres[true] + source.standard_normal((points, DIM))
    byzantine = source.random(points) < ALPHA
    rows[byzantine] = centres[0] + _BYZANTINE_AT * sqrt(DIM) * np.eye(DIM)[-1]
    true[byzantine] = 0
    elsewhere = (true + source.integers(1, CLUSTERS, size=points)) % CLUSTERS
    initial = np.where(source.random(points) < wrong, elsewhere, true)
    found = trimmed_kmeans(
        rows, initial[None], k=CLUSTERS, iterations=ITERATIONS, fraction=0.1,
        radius=radius, sigma=1.0,
    )  # fmt: skip
    honest = ~byzantine
    assert found.trimmed_history is not None
    assert found.centre_history is not None
    measured, errors, within = [], [], 0.0
    for labels, trimmed, now in zip(
        found.history, found.trimmed_history, found.centre_history, strict=True
    ):
        measured.append(clusterwise_misclustering(labels[honest], true[honest], trimmed[honest]))
        errors.append(centre_error(now, centres) or 0.0)
        within = max(within, _byzantine_within(labels[~trimmed], byzantine[~trimmed]))
    measured, errors = _continued(measured), _continued(errors)

    count, smallest = int(honest.sum()), float(np.bincount(true[honest]).min() / honest.sum())
    r_1 = k_cluster_snr(
        gap=GAP, sigma=1.0, smallest=smallest, clusters=CLUSTERS, dim=DIM, honest=count
    )
    floor = k_cluster_floor(smallest=smallest, clusters=CLUSTERS, honest=count)
    bound = k_cluster_recursion(
        measured[0], r_1=r_1, floor=floor, clusters=CLUSTERS, spread=1.0, steps=ITERATIONS,
        byzantine=2 * within * radius * sqrt(DIM) / GAP,
    )  # fmt: skip
    return (
        {"r_1": r_1, "floor": floor, "alpha'": within, "admissible": float(bound.admissible)}
        | {f"G^U_{s}": value for s, value in enumerate(measured)}
        | {f"bound_{s}": value for s, value in enumerate(bound.misclustered)}
        | {f"Lambda_{s}": value for s, value in enumerate(errors)}
        | {f"bound of Lambda_{s}": value for s, value in enumerate(bound.centre_error)}
    )


def _byzantine_within(labels: np.ndarray, byzantine: np.ndarray) -> float:
    """The largest share of Byzantine clients among the untrimmed points of a cluster."""
    return float(
        max(byzantine[labels == k].mean() if (labels == k).any() else 0.0 for k in range(CLUSTERS))
    )


def _continued(curve: list[float]) -> list[float]:
    """After a fixed point nothing changes any more."""
    return curve + curve[-1:] * (ITERATIONS + 1 - len(curve))
