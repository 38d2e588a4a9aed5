"""Local processes that run one cell at a time.

Each has one BLAS thread, and ends with its parent, also when that is killed without a chance to say
so. A cell that takes too long, or that brings its process down, costs this process alone: another
takes its place.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tagma.bench.cell_identity import code_fingerprint
from tagma.bench.cell_store import FILES, write_result
from tagma.bench.cells import Cell
from tagma.environment import environment
from tagma.escaping import one_line
from tagma.launch.interruption import listen, put_off

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LONGEST = 1000
"""Characters of what a failed cell says."""
_UP = "up"
_OTHER_CODE = "the code has changed since this command began: start it again"


@dataclass(frozen=True)
class Ended:
    """A cell that is over: with a result, or with the reason why there is none."""

    key: str
    result: dict[str, Any] | None
    error: str | None
    timed_out: bool = False


class Workers(Protocol):
    """Something that runs cells beside each other and keeps their results in a folder."""

    @property
    def free(self) -> int:
        """How many cells could start at once."""

    def start(self, key: str, cell: Cell) -> None:
        """Begin with a cell."""

    def ended(self, patience: float) -> list[Ended]:
        """The cells that have ended, after waiting for one for so many seconds at most."""

    def close(self) -> None:
        """End everything that still runs."""


def too_long(seconds: float) -> str:
    """What is said of a cell that was ended."""
    return f"timed out after {seconds:g} s"


class _Worker:
    """A process and the line to it; the time of its cell runs once the process is up."""

    def __init__(self, folder: Path) -> None:
        context = get_context("spawn")
        self.line, other = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(other, folder, os.getpid(), code_fingerprint()), daemon=True
        )
        with environment(ONE_THREAD), _without_main(), put_off():
            self.process.start()
        other.close()
        self.key = ""
        self.up = False
        self.started = inf

    def give(self, key: str, cell: Cell) -> None:
        self.key = key
        self.started = time.monotonic() if self.up else inf
        with suppress(OSError):  # it died before: its line will say so
            self.line.send((key, cell))

    def hear(self) -> Ended | None:
        """What became of its cell; None if it only says that it is up."""
        try:
            said = self.line.recv()
        except (EOFError, OSError):
            self.process.join()
            error = f"its process ended with exit code {self.process.exitcode}"
            return Ended(self.key, None, error)
        if said == _UP:
            self.up, self.started = True, time.monotonic()
            return None
        result, error = said
        return Ended(self.key, result, error)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


class LocalWorkers:
    """So many processes on this computer; `timeout` is the most seconds that a cell may take."""

    def __init__(self, count: int, folder: Path, timeout: float | None = None) -> None:
        self._count, self._folder, self._timeout = count, folder, timeout or inf
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    @property
    def free(self) -> int:
        """How many cells could start at once."""
        return self._count - len(self._busy)

    def start(self, key: str, cell: Cell) -> None:
        """Give the cell to a process, a new one if there is none to spare."""
        worker = self._idle.pop() if self._idle else _Worker(self._folder)
        worker.give(key, cell)
        self._busy.append(worker)

    def ended(self, patience: float) -> list[Ended]:
        """The cells that have ended, those that took too long among them."""
        left = [worker.started + self._timeout - time.monotonic() for worker in self._busy]
        ready = wait([worker.line for worker in self._busy], max(0.0, min([patience, *left])))
        over = []
        for worker in list(self._busy):
            end = worker.hear() if worker.line in ready else None
            if end is None and time.monotonic() >= worker.started + self._timeout:
                end = Ended(worker.key, None, too_long(self._timeout), timed_out=True)
            if end is not None:
                over.append(end)
                self._busy.remove(worker)
                if worker.process.is_alive() and not end.timed_out:
                    self._idle.append(worker)
                else:
                    worker.kill()
        return over

    def close(self) -> None:
        """End all processes."""
        for worker in (*self._busy, *self._idle):
            worker.kill()
        self._busy.clear()
        self._idle.clear()


def work(cell: Cell) -> tuple[dict[str, Any] | None, str | None]:
    """The result of a cell, or what went wrong (as text: not every exception can travel)."""
    try:
        return cell.run(), None
    except Exception as problem:  # one bad cell must not end the others
        return None, one_line(f"{type(problem).__name__}: {problem}", LONGEST)


def _serve(line: Connection, folder: Path, parent: int, code: str) -> None:
    """A worker: results are kept here, so what is finished when the parent is killed stays so.

    It has read the code anew, and a result of other code than the parent's has no place under the
    parent's key.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    listen()
    _end_with(parent)
    sys.path.append(os.getcwd())  # as in the parent: plugins of the user's own
    with suppress(EOFError, BrokenPipeError):  # the parent is gone
        line.send(_UP)
        while True:
            key, cell = line.recv()
            result, error = work(cell) if code == code_fingerprint() else (None, _OTHER_CODE)
            if result is not None:
                write_result(folder, key, result)
                result.pop(FILES, None)
            line.send((result, error))


@contextmanager
def _without_main() -> Iterator[None]:
    """A process started within does not run the script that this one runs; no cell needs it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _end_with(parent: int) -> None:
    """Let this process end when its parent does."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
