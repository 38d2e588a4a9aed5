"""A folder of finished cells: JSON files that appear whole or not at all."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from tagma.errors import TagmaError

FILES = "files"
"""The entry of a result that holds files to keep beside it: their names and bytes."""


def cells_folder(folder: Path, setting: str = "--out ") -> Path:
    """The place for finished cells in a folder for results, which is made if need be.

    `setting` is how the user names the folder.
    """
    kept = folder / "cells"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=kept).close()
    except OSError as error:
        raise TagmaError(f"{setting}{folder}: cannot be written to ({error.strerror})") from None
    return kept


def write_result(folder: Path, key: str, result: Mapping[str, Any]) -> None:
    """Keep a result; a reader never sees half of it, nor two writers each other.

    Its files go to a folder of the key's name, before the result: who sees it sees them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=f".{key}.") as scratch:
        if FILES in result:
            _write_files(folder / key, Path(scratch) / FILES, result[FILES])
        partial = Path(scratch) / "result"
        partial.write_text(json.dumps({k: v for k, v in result.items() if k != FILES}) + "\n")
        os.replace(partial, _file(folder, key))


def read_result(folder: Path, key: str) -> dict[str, Any] | None:
    """The kept result of a cell, if there is one; a damaged file counts as none."""
    try:
        result = json.loads(_file(folder, key).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _write_files(place: Path, partial: Path, files: Mapping[str, bytes]) -> None:
    partial.mkdir()
    for name, content in files.items():
        (partial / name).write_bytes(content)
    with suppress(OSError):  # someone was here before and wrote the same
        os.rename(partial, place)
