"""CPU time on one thread, as a ratio to the mean of the rows in the same run."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import thread_time

from threadpoolctl import threadpool_limits

from tagma.arrays import Array

_LONG = 3.0
"""Seconds after which one measurement is enough."""
_SHORT = 0.002
"""Shorter calls are repeated within a measurement."""


@dataclass(frozen=True)
class Timing:
    """What one formulation takes."""

    statistic: str
    library: str
    m: int
    d: int
    seconds: float
    ratio: float
    """To the mean of the rows, measured in turns with it."""


@contextmanager
def one_thread() -> Iterator[None]:
    """All libraries on one thread, and ours too."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def compare(function: Callable[[Array], object], rows: Array, repeats: int) -> tuple[float, float]:
    """Median seconds of a call, and their ratio to those of `rows.mean(axis=0)`.

    The two take turns, so that what else the machine does meets both. The first call of each is not
    counted: it pays for memory and imports.
    """
    rows.mean(axis=0)
    first = _seconds(lambda: function(rows), 1)
    calls = max(1, int(_SHORT / max(first, 1e-6)))
    mean_first = _seconds(lambda: rows.mean(axis=0), 1)
    mean_calls = max(1, int(_SHORT / max(mean_first, 1e-6)))
    own, means = [], []
    for _ in range(1 if first > _LONG else repeats):
        means.append(_seconds(lambda: rows.mean(axis=0), mean_calls))
        own.append(_seconds(lambda: function(rows), calls))
        means.append(_seconds(lambda: rows.mean(axis=0), mean_calls))
    return median(own), median(own) / median(means)


def _seconds(call: Callable[[], object], number: int) -> float:
    started = thread_time()
    for _ in range(number):
        call()
    return (thread_time() - started) / number
