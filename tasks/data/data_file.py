"""Data files from anywhere: regular ones, and no larger than there is room for, also unpacked."""

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from tagma.foreign_file import room

_PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def check_file(path: Path) -> None:
    """A `ValueError` if it is no file, such as a device or a pipe, which may never end."""
    if not path.is_file():
        raise ValueError("is no file" if path.exists() else "there is no such file")
    check_size(path.stat().st_size)


def check_size(size: int, what: str = "it") -> None:
    """A `ValueError` if there is no room for so many bytes."""
    if size > (most := room()):
        raise ValueError(f"{what} would take {size} bytes, and there is room for {most}")


def opened(path: Path) -> IO[bytes]:
    """A file to be read, unpacked if its name says that it is packed."""
    check_file(path)
    packed = _PACKED.get(path.suffix.lower())
    if packed is None:
        return path.open("rb")
    return cast(IO[bytes], io.BufferedReader(_Unpacked(packed(path)), 2**20))


class _Unpacked(io.RawIOBase):
    """What is packed, up to as much as there is room for."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        content = self._source.read(len(buffer))
        buffer[: len(content)] = content
        self._read += len(content)
        check_size(self._read)
        return len(content)

    def close(self) -> None:
        self._source.close()
        super().close()
