"""A file of somebody else's that grows, read line by line as far as it is written."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""What taking apart a line may raise that is not what it should be."""
_LINE, _STEP, _FILE = 2**24, 2**20, 2**28
_MARK = 160
"""Bytes at the beginning, and before the place reached, by which a file is known again."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Tail:
    """The whole lines that were added to a file since the last look; links and pipes have none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at, self._rest = 0, b""
        self._marks: tuple[tuple[int, bytes], ...] = ()

    def lines(self) -> tuple[bool, Iterator[bytes]]:
        """Whether it is another file than before, and the lines."""
        try:
            file = os.open(self._path, _OPEN)
        except OSError:
            return False, iter(())
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            os.close(file)
            return False, iter(())
        anew = any(os.pread(file, len(mark), at) != mark for at, mark in self._marks)
        if anew:
            self._at, self._rest, self._marks = 0, b"", ()
        return anew, self._added(file)

    def _added(self, file: int) -> Iterator[bytes]:
        with open(file, "rb", buffering=0):
            try:
                while self._at < _FILE and (block := os.pread(file, _STEP, self._at)):
                    self._at += len(block)
                    *lines, self._rest = (self._rest + block).split(b"\n")
                    yield from lines
                    if len(self._rest) > _LINE:
                        raise ValueError("a line that is too long")
            except (OSError, ValueError):
                self._rest = b""
            places = 0, max(0, self._at - _MARK)
            self._marks = tuple((at, os.pread(file, min(_MARK, self._at), at)) for at in places)
