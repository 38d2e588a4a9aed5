"""One run folder, one writer: two runs in one folder would spoil each other's files.

A command holds a folder from before its first file until after its last (`claimed`); the server,
which may be another process, holds it while it plays and writes results (`only_writer`). The locks
are the operating system's, on files in the folder, so that they end with their process, however
that ends. Whoever holds one removes its file at the end; who had opened it before that finds that
what it has locked is no longer the folder's, and looks again.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagma.atomic_file import remove_partials
from tagma.errors import TagmaError

_OF_COMMANDS, _OF_SERVERS = ".claimed", ".writing"
_PLACES = ("", ".hydra", "figures", "tables")
"""Where files are written in a run folder."""
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the folder for a command; one line of error if another run has it.

    What an earlier one that was killed left of files is removed.
    """
    with _locked(folder / _OF_COMMANDS):
        with only_writer(folder):  # also by a server that no command began
            for place in map(folder.joinpath, _PLACES):
                if place == folder or not place.is_symlink():
                    remove_partials(place)
        yield


def seems_claimed(folder: Path) -> bool:
    """Whether a command holds the folder, for who only reads it; so it seems after `kill -9`."""
    return (folder / _OF_COMMANDS).exists()


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder for a server; one line of error if another one has it."""
    with _locked(folder / _OF_SERVERS):
        yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    while True:
        try:
            file = os.open(path, _OPEN, 0o644)
        except OSError as problem:
            raise TagmaError(f"{path}: cannot be locked ({problem.strerror})") from None
        try:
            if _lock(path, file):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        finally:
            os.close(file)


def _lock(path: Path, file: int) -> bool:
    """Lock what was opened; whether that is still the folder's file."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file), path.lstat())
    except BlockingIOError:
        raise TagmaError(f"{path.parent}: another run is still writing there") from None
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise TagmaError(f"{path}: cannot be locked ({problem.strerror})") from None
