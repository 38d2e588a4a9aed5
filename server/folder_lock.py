"""One run folder, one writer: two servers in one folder would spoil each other's files.

The lock is the operating system's, on a file in the folder, so that it ends with its process,
however that ends.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagma.errors import TagmaError

_LOCK = ".writing"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; one line of error if another run has it."""
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TagmaError(f"{folder}: another run is still writing there") from None
        try:
            yield
        finally:
            (folder / _LOCK).unlink(missing_ok=True)
