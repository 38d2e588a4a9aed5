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
    TimeRemainingColumn,
)

from launch.console import notices

_PAUSE = 10.0
"""Seconds between two lines when the output is not a terminal."""


class CellProgress:
    """Told how many cells are done; a context manager around the work."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar = Progress(
            TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
            TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
            console=notices, transient=True, disable=not notices.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task(title, total=None)
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

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` cells are finished."""
        self._bar.update(self._task, completed=done, total=total)
        now = monotonic()
        if self._at_start is None:
            self._at_start = done
            if done:
                notices.print(f"{self._title}: {done} of {total} runs are there already")
        elif not notices.is_terminal and now - self._last_line > _PAUSE:
            self._last_line = now
            left = (now - self._start) / max(done - self._at_start, 1) * (total - done)
            notices.print(f"{self._title}: {done}/{total} runs, about {left:.0f} s left")
