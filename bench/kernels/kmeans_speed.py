"""Trimmed K-means with 20 restarts beside scikit-learn's K-means with 20 starts."""

from dataclasses import dataclass
from statistics import median
from time import thread_time

import numpy as np
from sklearn.cluster import KMeans

from tagma.rng import stream
from tagma.strategies.clustering import random_labels, trimmed_kmeans

CLIENTS, DIM, CLUSTERS, RESTARTS, ITERATIONS = 1000, 1000, 10, 20, 20
_REPEATS = 5
_DISTANCE = 0.1
"""Of a centre's entries, in standard deviations: clusters that take some iterations to find."""


@dataclass(frozen=True)
class Comparison:
    """Both on the same points; both may use as many iterations and stop only at a fixed point."""

    seconds: float
    """Our CPU seconds."""
    ratio: float
    """To scikit-learn's, measured in turns."""
    iterations: int
    """That our best restart took."""
    their_iterations: int
    """That their best start took."""


def compare_clustering(repeats: int) -> Comparison:
    """Trimmed K-means and K-means, each from 20 random starts."""
    random = stream(0, "bench kernels clustering")
    centres = _DISTANCE * random.standard_normal((CLUSTERS, DIM))
    points = centres[np.arange(CLIENTS) % CLUSTERS] + random.standard_normal((CLIENTS, DIM))
    initial = random_labels(np.arange(CLIENTS), k=CLUSTERS, restarts=RESTARTS, seed=0)
    theirs = KMeans(
        CLUSTERS, init="random", n_init=RESTARTS, max_iter=ITERATIONS, tol=0, random_state=0
    )
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(min(repeats, _REPEATS)):
        started = thread_time()
        theirs.fit(points)
        middle = thread_time()
        found = trimmed_kmeans(
            points, initial,
            k=CLUSTERS, iterations=ITERATIONS, fraction=0.35, radius=2.0,
        )  # fmt: skip
        seconds["theirs"].append(middle - started)
        seconds["ours"].append(thread_time() - middle)
    ours = median(seconds["ours"])
    return Comparison(ours, ours / median(seconds["theirs"]), found.iterations, theirs.n_iter_)
