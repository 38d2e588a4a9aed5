"""Runs cells beside each other, keeps every result at once, and skips those that are there already.

A cell is claimed before it starts, so several processes, also on several computers, can work on one
folder: what one of them has finished is there for all. When a cell fails or takes too long, the
others go on.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagma.bench.cell_claims import Claims
from tagma.bench.cell_store import read_result
from tagma.bench.cells import Cell
from tagma.bench.local_workers import Ended, LocalWorkers, Workers

_PATIENCE = 0.5
"""Seconds between two looks at what others have done."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    result: dict[str, Any] | None
    error: str | None
    """Why there is no result."""
    timed_out: bool = False


@dataclass(frozen=True)
class Counts:
    """How far a set of cells is."""

    total: int
    kept: int
    """There before anything ran."""
    done: int
    """Finished with a result, those that were kept among them."""
    running: int
    failed: int

    @property
    def shown(self) -> tuple[int, int, str]:
        """How many are over, of how many, and the rest in words."""
        already = f", {self.kept} there already" if self.kept else ""
        words = f"runs{already}, {self.running} running, {self.failed} failed"
        return self.done + self.failed, self.total, words


Progress = Callable[[Counts], None]
OnCell = Callable[[str, Ended | None], None]
"""Is told a cell's key, and its end when it is over."""


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    *,
    workers: int | Workers,
    progress: Progress,
    on_cell: OnCell = lambda key, end: None,
) -> list[Outcome]:
    """The outcomes of all cells, in their order; only those without a kept result are run.

    `workers` are ready ones, which are left to the caller to close, or the number of local
    processes. `on_cell` is told of every cell that begins, and that is over.
    """
    pool = LocalWorkers(workers, folder) if isinstance(workers, int) else workers
    work = _Work(folder, progress, on_cell)
    try:
        return work.through(cells, pool)
    finally:
        if isinstance(workers, int):
            pool.close()
        work.claims.drop_all()


@dataclass
class _Work:
    folder: Path
    progress: Progress
    on_cell: OnCell
    ends: dict[str, Ended] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    kept: int = 0

    def __post_init__(self) -> None:
        self.claims = Claims(self.folder)

    def through(self, cells: Sequence[Cell], pool: Workers) -> list[Outcome]:
        """Start what is missing and wait for it, or for others who are at it."""
        keys = [cell.key for cell in cells]
        missing = {
            key: cell for key, cell in zip(keys, cells, strict=True) if not self._kept(key, cell)
        }
        self.kept = sum(key not in missing for key in keys)
        self._tell(keys)
        waiting = deque(missing)
        while waiting or self.running:
            self._start(waiting, missing, pool)
            for end in pool.ended(_PATIENCE) if self.running else self._pause():
                self.ends[end.key] = end
                self.on_cell(end.key, end)
                self.running.discard(end.key)
                self.claims.drop(end.key)
            self.claims.renew()
            self._tell(keys)
        return [self._outcome(cell, self.ends[key]) for key, cell in zip(keys, cells, strict=True)]

    def _start(self, waiting: deque[str], cells: dict[str, Cell], pool: Workers) -> None:
        for _ in range(len(waiting)):
            if not pool.free:
                return
            key = waiting.popleft()
            if self._kept(key, cells[key]):
                continue
            if not self.claims.take(key):
                waiting.append(key)  # someone is at it; look again later
            elif self._kept(key, cells[key]):
                self.claims.drop(key)  # finished between the look and the claim
            else:
                pool.start(key, cells[key])
                self.running.add(key)
                self.on_cell(key, None)

    def _kept(self, key: str, cell: Cell) -> bool:
        result = read_result(self.folder, key)
        if result is None or not cell.whole(result):
            return False
        self.ends[key] = Ended(key, result, None)
        self.on_cell(key, self.ends[key])
        return True

    def _tell(self, keys: Sequence[str]) -> None:
        done = sum(key in self.ends and self.ends[key].result is not None for key in keys)
        failed = sum(key in self.ends and self.ends[key].result is None for key in keys)
        self.progress(Counts(len(keys), self.kept, done, len(self.running), failed))

    @staticmethod
    def _pause() -> list[Ended]:
        time.sleep(_PATIENCE)
        return []

    @staticmethod
    def _outcome(cell: Cell, end: Ended) -> Outcome:
        return Outcome(cell, end.result, end.error, end.timed_out)
