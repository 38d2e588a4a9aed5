"""Progress of a run: a bar on a terminal, a line now and then elsewhere."""

from time import monotonic
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tagma.launch.console import notices
from tagma.server.results.events import RoundFinished

_STAGES = {
    "local_model": "stage I  local models",
    "gradient": "stage III  gradients",
    "local": "stage III  local steps",
}
_PAUSE = 2.0
"""Seconds between two lines when the output is not a terminal."""


class RunProgress:
    """An observer of rounds; a context manager around the run."""

    def __init__(self, rounds: int, of: str = "") -> None:
        """`of` names the run where there are several."""
        self._of = f"{of}  " if of else ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[error]}"),
            TimeElapsedColumn(),
            console=notices,
            transient=True,
            disable=not notices.is_terminal,
        )
        self._task = self._bar.add_task(self._of + _STAGES["local_model"], total=rounds, error="")
        self._last_line = monotonic()

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

    def __call__(self, event: RoundFinished) -> None:
        """Show one more round."""
        stage = _STAGES.get(event.work, event.work)
        if event.work == "local_model":
            stage = "stage II  clustering done"
        stage = self._of + stage
        error = "" if event.estimation_error is None else f"error {event.estimation_error:.4f}"
        self._bar.update(self._task, description=stage, completed=event.round, error=error)
        if not notices.is_terminal and monotonic() - self._last_line > _PAUSE:
            self._last_line = monotonic()
            notices.print(f"round {event.round}/{event.rounds}  {stage}  {error}", highlight=False)
