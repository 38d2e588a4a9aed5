"""A cell of an experiment: a unit of work, identified by everything its result depends on.

The key is a hash of the resolved configuration and of the source code that computes results. A cell
that is finished under its key never has to run again, and a change of a default, of the code or of
an override gives a new key. Results are JSON files that appear whole or not at all.
"""

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from tagma.bench.cell_identity import hash_of, key_of_run
from tagma.launch.engines import inprocess
from tagma.plugins import locate
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose

FILES = "files"
"""The entry of a result that holds files to keep beside it: their names and bytes."""


class Cell(Protocol):
    """One unit of work of an experiment, with a result that can be kept."""

    @property
    def method(self) -> str:
        """What is compared with other methods."""

    @property
    def trial(self) -> int:
        """Trials of one method differ in their random numbers."""

    @property
    def key(self) -> str:
        """The identity of the result."""

    def run(self) -> dict[str, Any]:
        """Compute the result."""

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Whether a kept result has what a result of this cell has."""


@dataclass(frozen=True)
class RunCell:
    """A whole federation, in one process, with real Flower messages; the result is its metrics."""

    method: str
    trial: int
    overrides: tuple[str, ...]
    seed: int

    @property
    def key(self) -> str:
        """A hash of the resolved configuration and the code.

        Composing is slow, so the seed is put into the configuration that all trials share.
        """
        return key_of_run(vars(compose(self.overrides)) | {"seed": self.seed})

    def run(self) -> dict[str, Any]:
        """Run the federation in a temporary folder."""
        logging.getLogger("flwr").setLevel(logging.ERROR)
        with TemporaryDirectory() as scratch:
            settings = compose((*self.overrides, f"seed={self.seed}", "checkpoint_every=0"))
            inprocess.run(settings, Path(scratch), lambda event: None)
            return read_metrics(Path(scratch))

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Anything but nothing."""
        return bool(result)


@dataclass(frozen=True)
class ArrayCell:
    """An experiment on arrays alone: a function, by its dotted path, and its arguments."""

    method: str
    trial: int
    function: str
    arguments: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> str:
        """A hash of the function's name, its arguments and the code."""
        return hash_of([self.function, dict(self.arguments)])

    def run(self) -> dict[str, Any]:
        """Call the function."""
        result: dict[str, Any] = locate(self.function, "function")(**dict(self.arguments))
        return result

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Anything but nothing."""
        return bool(result)


def result_file(folder: Path, key: str) -> Path:
    """Where the result of a cell is kept."""
    return folder / f"{key}.json"


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
        os.replace(partial, result_file(folder, key))


def _write_files(place: Path, partial: Path, files: Mapping[str, bytes]) -> None:
    partial.mkdir()
    for name, content in files.items():
        (partial / name).write_bytes(content)
    with suppress(OSError):  # someone was here before and wrote the same
        os.rename(partial, place)


def read_result(folder: Path, key: str) -> dict[str, Any] | None:
    """The kept result of a cell, if there is one; a damaged file counts as none."""
    try:
        result = json.loads(result_file(folder, key).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return result if isinstance(result, dict) else None
