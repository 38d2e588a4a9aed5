"""A file that only grows: one line of JSON per round, and how much of it is known to be good.

A `Mark` is a length and the checksum of all bytes before it. Whoever keeps a mark can tell whether
these bytes are still the ones that were written; what comes after them, whole lines or half of one,
is cut off when the writing goes on. To append costs the line, however many there are before it; to
read costs the file.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from tagma.foreign_file import read_arrays

_LONGEST = 2**26
"""Bytes of a line: what a million clients that were refused in one round take."""


@dataclass(frozen=True)
class Mark:
    """A place in a journal: how many bytes come before it, and their CRC-32."""

    length: int = 0
    checksum: int = 0


def read_lines(path: Path, mark: Mark) -> Iterator[Any]:
    """What was written before the mark, line by line; a `ValueError` if it is not as it was."""
    content = read_arrays(path)[: max(0, mark.length)]
    if Mark(len(content), crc32(content)) != mark:
        raise ValueError(f"{path.name} is not what was written")
    for line in content.splitlines():
        if len(line) > _LONGEST:
            raise ValueError(f"{path.name} has a line of {len(line)} bytes")
        found = json.loads(line)
        json.dumps(found, ensure_ascii=False).encode()  # or no file could hold its texts
        yield found


class Journal:
    """Appends lines, from a mark on; nothing is certain to be in the file before `flush`."""

    def __init__(self, path: Path, mark: Mark) -> None:
        self.mark = mark
        if path.is_symlink():  # to somewhere else
            path.unlink()
        self._file = path.open("r+b" if mark.length else "wb")
        self._file.truncate(mark.length)
        self._file.seek(mark.length)

    def append(self, entry: Any) -> None:
        """Add one line of JSON."""
        line = json.dumps(entry).encode() + b"\n"
        self._file.write(line)
        self.mark = Mark(self.mark.length + len(line), crc32(line, self.mark.checksum))

    def flush(self, *, to_disk: bool) -> None:
        """Hand all lines to the system, which keeps them if this process dies, or to the disk."""
        self._file.flush()
        if to_disk:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Write what is left."""
        self._file.close()
