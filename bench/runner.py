"""Runs cells on all cores, keeps every result at once, and skips those that are there already.

Workers are processes with one BLAS thread each. A worker writes its cell's result itself, so
whatever was finished when the program is killed stays finished. Workers end with their parent, also
when it is killed without a chance to say so.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.cells import Cell, read_result, write_result

_BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    metrics: dict[str, Any] | None
    error: str | None
    """Why there are no metrics."""


Progress = Callable[[int, int], None]
"""Told how many of how many cells are done."""


def run_cells(
    cells: Sequence[Cell], folder: Path, *, workers: int, progress: Progress
) -> list[Outcome]:
    """The outcomes of all cells, in their order; only those without a kept result are run."""
    keys = {cell: cell.key for cell in cells}
    outcomes = {}
    for cell in cells:
        metrics = read_result(folder, keys[cell])
        if metrics is not None:
            outcomes[cell] = Outcome(cell, metrics, None)
    progress(len(outcomes), len(cells))
    missing = [cell for cell in cells if cell not in outcomes]
    with _pool(workers) as pool:
        futures = {pool.submit(_work, cell, folder, keys[cell]): cell for cell in missing}
        for future in _as_finished(futures):
            cell = futures[future]
            problem = future.exception()
            metrics, error = (None, _describe(problem)) if problem else future.result()
            outcomes[cell] = Outcome(cell, metrics, error)
            progress(len(outcomes), len(cells))
    return [outcomes[cell] for cell in cells]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that start with one BLAS thread."""
    before = {name: os.environ.get(name) for name in _BLAS}
    os.environ.update(dict.fromkeys(_BLAS, "1"))
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),)
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _as_finished(futures: dict[Future[Any], Cell]) -> Iterator[Future[Any]]:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        yield from done


def _work(cell: Cell, folder: Path, key: str) -> tuple[dict[str, Any] | None, str | None]:
    """The metrics of a cell, or what went wrong (as text: not every exception can travel)."""
    try:
        metrics = cell.run()
    except Exception as problem:  # one bad cell must not end the others
        return None, _describe(problem)
    write_result(folder, key, metrics)
    return metrics, None


def _describe(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"


def _end_with(parent: int) -> None:
    """Let this worker end when its parent does."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
