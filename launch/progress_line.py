"""Progress for whoever works in Python: one line that is rewritten, on a terminal or in a notebook.

Where the output goes elsewhere, such as to a file, nothing is written.
"""

import sys
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

from tagma.escaping import one_line
from tagma.launch.progress_bar import words_of
from tagma.server.results.events import RoundFinished

_PAUSE = 0.1
"""Seconds between two texts."""


class ProgressLine:
    """Around the work, as the command's bar is; with `wanted=False` nothing is ever written."""

    def __init__(self, title: str, *, wanted: bool) -> None:
        self._title = one_line(title)
        self._stream: TextIO | None = _screen() if wanted else None
        self._text, self._last = "", -_PAUSE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._text:
            self._write("")

    def show(self, done: int, total: int, more: str) -> None:
        """So much is done."""
        text = f"{self._title}: {done}/{total}  {more}"
        due = monotonic() - self._last >= _PAUSE or done == total
        if self._stream is not None and due and text != self._text:
            self._last = monotonic()
            self._write(text)

    def round(self, event: RoundFinished) -> None:
        """One more round is over: an observer of a run."""
        self.show(event.round, event.rounds, words_of(event))

    def _write(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{text.ljust(len(self._text))}" + ("" if text else "\r"))
        self._stream.flush()
        self._text = text


def _screen() -> TextIO | None:
    """Where somebody looks on, if anywhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        return sys.stderr
    return sys.stdout if in_notebook() else None


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
