"""Trimmed K-means with 20 restarts beside scikit-learn's K-means with 20 starts."""

from statistics import median
from time import thread_time

import numpy as np
from sklearn.cluster import KMeans

from strategies.clustering import random_labels, trimmed_kmeans
from tagma.streams import stream

MACHINES, DIM, CLUSTERS, RESTARTS, ITERATIONS = 1000, 1000, 10, 20, 20
_REPEATS = 5
_DISTANCE = 0.1
"""Of a centre's entries, in standard deviations: clusters that take some iterations to find."""


def clustering_ratio(repeats: int) -> tuple[float, float]:
    """Our CPU seconds, and their ratio to scikit-learn's on the same points, in turns.

    Both may use the same number of iterations and stop only at a fixed point.
    """
    random = stream(0, "bench kernels clustering")
    centres = _DISTANCE * random.standard_normal((CLUSTERS, DIM))
    points = centres[np.arange(MACHINES) % CLUSTERS] + random.standard_normal((MACHINES, DIM))
    initial = random_labels(np.arange(MACHINES), k=CLUSTERS, restarts=RESTARTS, seed=0)
    theirs = KMeans(
        CLUSTERS, init="random", n_init=RESTARTS, max_iter=ITERATIONS, tol=0, random_state=0
    )
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(min(repeats, _REPEATS)):
        started = thread_time()
        theirs.fit(points)
        middle = thread_time()
        trimmed_kmeans(
            points, initial,
            k=CLUSTERS, iterations=ITERATIONS, assumed_fraction=0.35, radius=2.0,
        )  # fmt: skip
        seconds["theirs"].append(middle - started)
        seconds["ours"].append(thread_time() - middle)
    return median(seconds["ours"]), median(seconds["ours"]) / median(seconds["theirs"])
