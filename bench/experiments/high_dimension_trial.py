"""Algorithm 3 against its oracle, for growing dimension.

m = 20,000 points in T = 5 parts, a share alpha = 0.05 of outliers, ||theta*|| = 3 times the noise.
The outliers are as far from theta* as makes the error of the plain mean about 5 times that of the
oracle, the mean of the inliers of the last part with their true labels. A filter that is worth its
name stays close to 1.
"""

from functools import partial
from math import sqrt

import numpy as np

from tagma.bench.experiments.symmetric_mixture import Outliers, draw_mixture, start_near
from tagma.rng import stream
from tagma.strategies.aggregation import Aggregator, iterative_filtering, mean
from tagma.strategies.clustering import symmetric_iterative_filtering

POINTS, ITERATIONS, ALPHA, SIGNAL = 20_000, 5, 0.05, 3.0
DIMS = (10, 50, 200)
KINDS: tuple[Outliers, ...] = ("point", "cloud", "ray")
_MEAN_OVER_ORACLE = 5
_ESTIMATES: dict[str, Aggregator] = {
    "filter": partial(iterative_filtering, factor=1.3, removable=0.6),
    "mean": mean,
}


def high_dimension_trial(
    *, dim: int, outliers: Outliers, seed: int, points: int = POINTS
) -> dict[str, float]:
    """Errors ||theta - theta*|| of oracle, filter and mean, and the inliers they miscluster."""
    source = stream(seed, "high dimension", dim, KINDS.index(outliers))
    part = points // ITERATIONS
    oracle_error = sqrt(dim / ((1 - ALPHA) * part))
    mixture = draw_mixture(
        source, points=points, dim=dim, signal=SIGNAL, alpha=ALPHA, outliers=outliers,
        distance=_MEAN_OVER_ORACLE * oracle_error / ALPHA,
    )  # fmt: skip
    start = start_near(mixture.theta, source)
    last = ~mixture.outlier
    last[: points - part] = False
    oracle = (mixture.points * mixture.signs[:, None])[last].mean(axis=0)
    result = {"oracle": float(np.linalg.norm(oracle - mixture.theta))}
    for name, estimate in _ESTIMATES.items():
        found = symmetric_iterative_filtering(
            mixture.points, start, iterations=ITERATIONS, estimate=estimate
        )
        result[name] = float(np.linalg.norm(found.theta - mixture.theta))
        result[f"{name} misclustered"] = mixture.misclustered(found.labels)
    return result
