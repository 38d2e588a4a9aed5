"""`tagma bench stage_two`: clusterings on the same points, by CPU time and by what they find."""

from collections.abc import Callable
from time import thread_time

import numpy as np
from rich.table import Table
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from tagma.arrays import Array, Labels, Mask
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, notices
from tagma.rng import stream
from tagma.strategies.clustering import density, random_labels, trimmed_kmeans

_ABOUT = """Stage II beside scikit-learn's clusterings, on the same points: CPU time and clusters.

Points are normal around centres that are 10 deviations from the middle; a fifth are Byzantine, of
five times the noise. The others but density are told how many clusters there are. Fails unless
density finds as many as there are and no honest point is in the wrong one.
  tagma bench stage_two                                 minutes
  tagma bench stage_two --clients 1000 --clusters 10"""

_DISTANCE, _NOISE, _SHARE = 10.0, 5.0, 0.2
_RESTARTS = 10

Found = tuple[Labels, int]
"""The label of every point, -1 for none, and how many clusters."""


def main(arguments: list[str]) -> None:
    """Measure all of them and print."""
    line = CommandLine("bench stage_two", _ABOUT)
    shown = "(default: %(default)s)"
    for name, default in (("clients", 5000), ("clusters", 100), ("dim", 100)):
        line.add_argument(f"--{name}", type=at_least(1), default=default, help=f"how many {shown}")
    options = line.read(arguments)
    points, groups, byzantine = made(options.clients, options.clusters, options.dim)
    table = Table(
        title=f"{options.clients:,} points in {options.clusters} clusters", title_justify="left"
    )
    for column in ("clustering", "CPU seconds", "clusters", "adjusted Rand index"):
        table.add_column(column, justify="left" if column == "clustering" else "right")
    scores = {}
    for name, cluster in clusterings(options.clusters).items():
        notices.print(f"{name} ...", highlight=False)
        started = thread_time()
        labels, k = cluster(points)
        seconds = thread_time() - started
        scores[name] = k, adjusted_rand_score(groups[~byzantine], labels[~byzantine])
        table.add_row(name, f"{seconds:.2f}", str(k), f"{scores[name][1]:.4f}")
    console.print(table)
    k, score = scores["density"]
    if k != options.clusters or score < 1:
        raise TagmaError(
            f"density: {k} clusters and an adjusted Rand index of {score:.4f}, "
            f"not {options.clusters} and 1"
        )


def made(clients: int, clusters: int, dim: int) -> tuple[Array, Labels, Mask]:
    """Points (m, d), the group of each, and which are Byzantine."""
    random = stream(0, "bench stage_two")
    centres = random.standard_normal((clusters, dim))
    centres *= _DISTANCE / np.linalg.norm(centres, axis=1, keepdims=True)
    groups = np.arange(clients) % clusters
    points = centres[groups] + random.standard_normal((clients, dim))
    byzantine = random.random(clients) < _SHARE
    points[byzantine] += _NOISE * random.standard_normal((int(byzantine.sum()), dim))
    return points, groups, byzantine


def clusterings(k: int) -> dict[str, Callable[[Array], Found]]:
    """Ours, the paper's, and scikit-learn's."""

    def ours(points: Array) -> Found:
        found = density(points)
        return found.labels, found.k

    def papers(points: Array) -> Found:
        initial = random_labels(np.arange(len(points)), k=k, restarts=_RESTARTS, seed=0)
        found = trimmed_kmeans(
            points, initial, k=k, iterations=20, fraction=0.35, radius=2.0
        )  # fmt: skip
        return found.labels, len(np.unique(found.labels))

    def k_means(points: Array) -> Found:
        labels = KMeans(k, n_init=_RESTARTS, random_state=0).fit_predict(points)
        return labels, len(np.unique(labels))

    def hdbscan(points: Array) -> Found:
        labels = HDBSCAN(min_cluster_size=5, copy=True).fit_predict(points)
        return labels, int(labels.max()) + 1

    return {
        "density": ours,
        f"trimmed K-means, {_RESTARTS} starts": papers,
        f"scikit-learn KMeans, {_RESTARTS} starts": k_means,
        "scikit-learn HDBSCAN": hdbscan,
    }
