"""Progress of a set of cells: a bar with the time left on a terminal, lines elsewhere."""

from time import monotonic
from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from tagma.bench.runner import Counts
from tagma.launch.console import notices

_PAUSE = 10.0
"""Seconds between two lines when the output is not a terminal."""


class CellProgress:
    """Told how far the cells are; a context manager around the work."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar = Progress(
            TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[more]}"),
            TimeElapsedColumn(), console=notices, transient=True, disable=not notices.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task(title, total=None, more="")
        self._last_line = self._start = monotonic()
        self._at_start: int | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, counts: Counts) -> None:
        """Show how many cells are over, running and failed, and about how long the rest takes."""
        now, over = monotonic(), counts.done + counts.failed
        if self._at_start is None:
            self._at_start = over
            if over:
                notices.print(f"{self._title}: {over} of {counts.total} runs are there already")
        more = f"runs, {counts.running} running, {counts.failed} failed"
        new = over - self._at_start
        if new:
            left = (now - self._start) / new * (counts.total - over)
            more += f", about {duration(left)} left"
        self._bar.update(self._task, completed=over, total=counts.total, more=more)
        if not notices.is_terminal and now - self._last_line > _PAUSE:
            self._last_line = now
            notices.print(f"{self._title}: {over}/{counts.total} {more}", highlight=False)


def duration(seconds: float) -> str:
    """A time in words that are as exact as an estimate is."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
