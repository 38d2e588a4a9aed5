"""Progress of anything that is counted: a bar with the time left on a terminal, lines elsewhere."""

from time import monotonic
from types import TracebackType
from typing import Protocol, Self

from rich import progress as rich

from tagma.escaping import one_line
from tagma.launch.console import notices
from tagma.server.results.events import RoundFinished

_WORKS = {"local_model": "local models", "gradient": "gradients", "local": "local steps"}
"""What clients have sent."""
_PAUSE = 10.0
"""Seconds between two lines when the output is not a terminal."""


class Progress(Protocol):
    """What shows how far something is: a context manager around the work."""

    def __enter__(self) -> Self:
        """The work begins."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """It is over."""

    def show(self, done: int, total: int, more: str) -> None:
        """So much is done."""

    def round(self, event: RoundFinished) -> None:
        """One more round is over."""


class ProgressBar:
    """A context manager around the work; `show` or, for the rounds of a run, `round` moves it."""

    def __init__(self, title: str) -> None:
        self._title = one_line(title)
        self._bar = rich.Progress(
            rich.TextColumn("{task.description}", markup=False), rich.BarColumn(),
            rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[more]}", markup=False),
            rich.TimeElapsedColumn(),
            console=notices, transient=True, disable=not notices.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task(self._title, total=None, more="")
        self._last_line = monotonic()
        self._first: tuple[float, int] | None = None

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

    def show(self, done: int, total: int, more: str) -> None:
        """So much is done; the time left is estimated from what was done since the first call."""
        now = monotonic()
        start, before = self._first = self._first or (now, done)
        if before < done < total:
            more += f", about {duration((now - start) / (done - before) * (total - done))} left"
        self._bar.update(self._task, completed=done, total=total, more=more)
        if not notices.is_terminal and now - self._last_line > _PAUSE:
            self._last_line = now
            notices.print(f"{self._title}: {done}/{total}  {more}", highlight=False)

    def round(self, event: RoundFinished) -> None:
        """One more round is over: an observer of a run."""
        self.show(event.round, event.rounds, words_of(event))


def words_of(event: RoundFinished) -> str:
    """What clients sent in a round, and the first score after it."""
    more = _WORKS.get(event.work, event.work)
    for name, value in [*event.scores.items()][:1]:
        more += "" if value is None else f", {name.replace('_', ' ')} {value:.4f}"
    return one_line(more)


def duration(seconds: float) -> str:
    """A time in words that are as exact as an estimate is."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
