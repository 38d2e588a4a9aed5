"""`tagma bench threshold_graph`: our threshold graph against scikit-learn's.

Both find the components of the graph that joins points closer than gamma, on the generated points
of `tagma bench features`. scikit-learn (`radius_neighbors_graph`, brute force, which it chooses
itself in so many dimensions) makes the graph, SciPy its components; ours never stores the graph.
Each runs in a process of its own: processor time and the growth of its peak memory beyond the
points.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time

import numpy as np
from rich.table import Table
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import radius_neighbors_graph

from tagma.arrays import Labels
from tagma.bench.experiments.ranking_scale import generate
from tagma.bench.peak_memory import peak_memory
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console
from tagma.tasks.feature_graph import largest_first_labels, threshold_components

_ABOUT = """Our threshold graph against scikit-learn's neighbour search, each in its own process.

  tagma bench threshold_graph
  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 tagma bench threshold_graph      on one thread"""
_SIZES, _FEATURES, _GAMMA = (5_000, 10_000), 595, 6.0


def main(arguments: list[str]) -> None:
    """Measure both at two sizes, and compare the components."""
    CommandLine("bench threshold_graph", _ABOUT).read(arguments)
    table = Table(title="Components of the threshold graph", title_justify="left")
    for title in ("points", "method", "processor s", "memory MB"):
        table.add_column(title, justify="left" if title == "method" else "right")
    for points in _SIZES:
        found = []
        for name in ("ours", "scikit-learn"):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                labels, seconds, memory = pool.submit(_measure, name, points).result()
            found.append(labels)
            table.add_row(f"{points:,}", name, f"{seconds:.1f}", f"{memory / 1e6:,.0f}")
        if not np.array_equal(found[0], found[1]):
            raise TagmaError(f"the components of {points} points differ")
    console.print(table)


def _measure(name: str, points: int) -> tuple[Labels, float, float]:
    matrix = generate(points, _FEATURES, seed=0)
    before, start = peak_memory(), process_time()
    if name == "ours":
        labels = threshold_components(matrix, _GAMMA, progress=lambda share: None)
    else:
        graph = radius_neighbors_graph(matrix, np.nextafter(_GAMMA, 0), n_jobs=1)
        labels = largest_first_labels(connected_components(graph, directed=False)[1])
    return labels, process_time() - start, peak_memory() - before
