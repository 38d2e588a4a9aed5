"""A guard process that cleans up after a run, however the run ends.

A simulation is a tree of some fifteen processes, several of them daemons, that no signal to the
launcher reaches. So before the first of them starts, the launcher starts this file as a process
of its own session. The guard makes the run's working folder and then waits on a pipe that only
the launcher holds open. When the launcher says so, or is gone (even by `kill -9`), the guard
terminates every process of the run, kills those that stay, and removes the folder. Success,
failure and Ctrl-C all end this way.

A process belongs to the run if it has the run's token in its environment or was started in the
run's empty `cwd` folder. Children inherit both. One alone is not enough: a client may change
its directory, and some of Ray's daemons overwrite their environment with their process title.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from uuid import uuid4

import psutil

TOKEN = "TAGMA_RUN_TOKEN"
GRACE_SECONDS = 1.0
POLL_SECONDS = 0.05
LONGEST_TEMPORARY_PATH = 20  # Ray appends up to 80 characters; a socket's path may have 103


@dataclass(frozen=True)
class Shelter:
    """A run's working folder, and the way to start processes that are cleaned up with it."""

    folder: Path
    token: str
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, command: Sequence[str], env: Mapping[str, str], stdout: int | IO[str]
    ) -> subprocess.Popen[str]:
        """Start a command that belongs to the run, out of reach of the terminal's Ctrl-C."""
        process = subprocess.Popen(
            command,
            cwd=_cwd(self.folder),
            env={**env, TOKEN: self.token},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        )
        self.processes.append(process)
        return process


@contextmanager
def guarded() -> Iterator[Shelter]:
    """Start a guard; on the way out wait until it has removed all that the run left."""
    token = uuid4().hex
    guard = subprocess.Popen(
        [sys.executable, "-P", __file__, token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert guard.stdout is not None
    folder = guard.stdout.readline().rstrip("\n")
    if not folder:
        from tagma.errors import EngineError  # not above: the guard runs without Tagma

        raise EngineError("the run's guard did not start: is the temporary folder writable?")
    shelter = Shelter(Path(folder), token)
    try:
        yield shelter
    finally:
        # Some of Flower's processes hide their environment from all but root: end our own directly.
        for process in shelter.processes:
            process.terminate()
        guard.communicate("end\n")
        if guard.returncode != 0:
            sweep(shelter.folder, token)
        for process in shelter.processes:
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def sweep(folder: Path, token: str, grace: float = GRACE_SECONDS) -> None:
    """End every process of a run, then remove its folder."""
    deadline = time.monotonic() + grace
    asked: set[psutil.Process] = set()
    while processes := {p for p in psutil.process_iter() if _belongs(p, folder, token)}:
        overdue = time.monotonic() > deadline
        for process in processes if overdue else processes - asked:
            with suppress(psutil.Error):
                process.kill() if overdue else process.terminate()
        asked |= processes
        time.sleep(POLL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def _belongs(process: psutil.Process, folder: Path, token: str) -> bool:
    with suppress(psutil.Error, OSError):
        if process.environ().get(TOKEN) == token:
            return True
    with suppress(psutil.Error, OSError):
        return process.cwd() == str(_cwd(folder))
    return False


def _cwd(folder: Path) -> Path:
    return folder / "cwd"


def _make_folder() -> Path:
    """The working folder, on a path short enough for the sockets that Ray makes in it."""
    parent = tempfile.gettempdir()
    short = parent if len(parent) <= LONGEST_TEMPORARY_PATH else "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="tagma-", dir=short)).resolve()
    _cwd(folder).mkdir()
    return folder


def main(token: str) -> None:
    """The guard process: print the folder's name, wait for the end of the launcher, clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    folder = _make_folder()
    with suppress(BrokenPipeError):
        print(folder, flush=True)
        sys.stdin.readline()
    sweep(folder, token)


if __name__ == "__main__":
    main(sys.argv[1])
