"""Peak memory of the kernels on a large input, in a process of their own."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from tagma.bench.peak_memory import peak_memory
from tagma.strategies import aggregation as ours

ROWS = 50
KERNELS: dict[str, ours.Aggregator] = {
    "trimmed_mean": partial(ours.trimmed_mean, beta=0.1),
    "median": ours.median,
    "krum": partial(ours.krum, fraction=0.1),
    "multi_krum": partial(ours.multi_krum, fraction=0.1),
    "geometric_median": ours.geometric_median,
    "meamed": partial(ours.meamed, fraction=0.1),
    "bulyan": partial(ours.bulyan, fraction=0.1),
    "centered_clipping": ours.centered_clipping,
    "caf": partial(ours.caf, fraction=0.1),
    "dnc": partial(ours.dnc, fraction=0.1),
    "iterative_filtering": partial(ours.iterative_filtering, factor=1.3, removable=0.3),
    "cge": partial(ours.cge, fraction=0.1),
    "signguard": ours.signguard,
    "nnm, trimmed_mean": ours.with_pre_aggregators(
        [partial(ours.nnm, fraction=0.1)], partial(ours.trimmed_mean, beta=0.1)
    ),
    "arc, mean": ours.with_pre_aggregators([partial(ours.arc, fraction=0.1)], ours.mean),
}


def peak_ratio(dim: int) -> float:
    """The peak memory of a process that holds float32 rows of this length and runs all kernels.

    In sizes of the rows; Python and its libraries are included.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, dim).result()


def _measure(dim: int) -> float:
    rows: Any = np.empty((ROWS, dim), np.float32)
    random = np.random.default_rng(0)
    for row in rows:
        for start in range(0, dim, 2**20):
            part = row[start : start + 2**20]
            part[:] = random.standard_normal(len(part), np.float32)
    for kernel in KERNELS.values():
        kernel(rows)
    return peak_memory() / rows.nbytes
