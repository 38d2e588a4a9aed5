"""What the data side of the ranking experiment costs at the size of Yahoo's set2.test.txt.

Generated data: points in [0, 1]-like features around sparse centres, most of them in a few large
clusters, the others in many small groups. Inside a group the points vary along a few random
directions and, less, along all. Each measurement runs in a process of its own, so that its peak
memory is its own; that includes the feature matrix.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np

from tagma.bench.peak_memory import peak_memory
from tagma.rng import stream
from tagma.tasks.feature_graph import threshold_components
from tagma.tasks.pairwise_distances import Features
from tagma.tasks.single_linkage import components_below, search_gamma, single_linkage

_SHARES = (0.36, 0.24, 0.14, 0.06)
"""Of all points, what each of the large clusters has."""
_SMALL = 60
"""The other groups have fewer points than this."""
_DIRECTIONS, _ALONG, _ACROSS = 10, 0.06, 0.05
_GAMMA = 6.0
"""Joins the large clusters and most small groups, and none with another."""


@dataclass(frozen=True)
class Scale:
    """What a measurement found."""

    points: int
    features: int
    gamma: float
    searched: bool
    """Whether gamma was searched for, with all threshold graphs at once, or given."""
    clusters: tuple[int, ...]
    """Points of each component of at least `min_cluster` points."""
    unused: int
    splits: int
    """Clients that the clusters make, of `samples` points each."""
    generate_seconds: float
    graph_seconds: float
    """Of the wall clock, from the features to the splits."""
    graph_cpu_seconds: float
    """Of all cores together."""
    peak_bytes: int
    """Largest resident memory of the process."""


def run_scale(
    points: int = 103_174,
    features: int = 595,
    *,
    gamma: float | None = _GAMMA,
    clusters: int = len(_SHARES),
    min_cluster: int = 1000,
    samples: int = 50,
    seed: int = 0,
) -> Scale:
    """From generated features to splits, with a given gamma or, for None, a search for it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(
            _measure, points, features, gamma, clusters, min_cluster, samples, seed
        ).result()


def _measure(
    points: int,
    features: int,
    gamma: float | None,
    clusters: int,
    min_cluster: int,
    samples: int,
    seed: int,
) -> Scale:
    started = perf_counter()
    matrix = generate(points, features, seed)
    generated, cpu = perf_counter(), process_time()
    searched = gamma is None
    if gamma is None:
        tree = single_linkage(matrix)
        gamma = search_gamma(tree, clusters, min_cluster)
        labels = components_below(tree, 0.0 if gamma is None else gamma)
    else:
        labels = threshold_components(matrix, gamma)
    sizes = np.bincount(labels)
    large = sizes[sizes >= min_cluster]
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(large)
    splits = [
        stream(seed, "splits", k).permutation(order[end - size : end])[: size // samples * samples]
        for k, (size, end) in enumerate(zip(large, ends, strict=True))
    ]
    done, cpu_done = perf_counter(), process_time()
    return Scale(
        points=points,
        features=features,
        gamma=float("nan") if gamma is None else gamma,
        searched=searched,
        clusters=tuple(large.tolist()),
        unused=points - int(large.sum()),
        splits=sum(len(split) // samples for split in splits),
        generate_seconds=generated - started,
        graph_seconds=done - generated,
        graph_cpu_seconds=cpu_done - cpu,
        peak_bytes=peak_memory(),
    )


def generate(points: int, features: int, seed: int) -> Features:
    """Clustered points in single precision, in random order."""
    random = stream(seed, "ranking scale")
    sizes = [int(share * points) for share in _SHARES]
    while sum(sizes) < points:
        sizes.append(min(points - sum(sizes), int(random.integers(1, _SMALL))))
    order = random.permutation(points)
    matrix = np.empty((points, features), np.float32)
    start = 0
    for size in sizes:
        centre = random.random(features) * (random.random(features) < 0.4)
        directions = _ALONG * random.standard_normal((_DIRECTIONS, features))
        for first in range(start, start + size, 4096):
            last = min(first + 4096, start + size)
            along = random.standard_normal((last - first, _DIRECTIONS)) @ directions
            across = _ACROSS * random.standard_normal((last - first, features))
            matrix[order[first:last]] = centre + along + across
        start += size
    return matrix
