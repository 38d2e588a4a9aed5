"""run.log, which lines are only added to; in somebody else's folder it may be a link or a pipe."""

import logging
import os
from pathlib import Path
from typing import TextIO

from tagma.errors import TagmaError
from tagma.escaping import LogLines


class RunLog(logging.FileHandler):
    """Writes there what is logged; nothing is opened before the first line."""

    def __init__(self, filename: str | Path) -> None:
        super().__init__(filename, encoding="utf-8", delay=True)
        self.setFormatter(LogLines())

    def _open(self) -> TextIO:  # type: ignore[override]
        return opened_log(Path(self.baseFilename))


def check_log(path: Path) -> None:
    """One line of error if it is none of the folder's own files."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise TagmaError(f"{path}: is no file of this folder")


def opened_log(path: Path) -> TextIO:
    """The file, for lines at its end; one line of error if it is none of the folder's own."""
    try:
        return open(path, "a", encoding="utf-8", buffering=1, opener=_opener)
    except OSError as problem:
        raise TagmaError(f"{path}: cannot be written to ({problem.strerror})") from None


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
