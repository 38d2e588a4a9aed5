"""Peak memory of the kernels on a large input, in a process of their own."""

import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from strategies import aggregation as ours

ROWS = 50
_KERNELS = {
    "trimmed_mean": lambda rows: ours.trimmed_mean(rows, beta=0.1),
    "median": ours.median,
    "krum": lambda rows: ours.krum(rows, fraction=0.1),
    "multi_krum": lambda rows: ours.multi_krum(rows, fraction=0.1),
    "geometric_median": ours.geometric_median,
    "meamed": lambda rows: ours.meamed(rows, fraction=0.1),
    "nnm, trimmed_mean": ours.compose(
        [lambda rows: ours.nnm(rows, fraction=0.1)], lambda rows: ours.trimmed_mean(rows, beta=0.1)
    ),
}


def peak_ratio(dim: int) -> float:
    """The peak memory of all kernels on float32 rows of this length, in sizes of the input."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, dim).result()


def _measure(dim: int) -> float:
    before = _peak()
    rows = np.empty((ROWS, dim), np.float32)
    random = np.random.default_rng(0)
    for row in rows:
        for start in range(0, dim, 2**20):
            part = row[start : start + 2**20]
            part[:] = random.standard_normal(len(part), np.float32)
    for kernel in _KERNELS.values():
        kernel(rows)
    return (_peak() - before) / rows.nbytes


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
