"""A cell of an experiment: one whole run, identified by everything its result depends on.

The key is a hash of the resolved configuration and of the source code that computes results. A cell
that is finished under its key never has to run again, and a change of a default, of the code or of
an override gives a new key. Results are JSON files that appear whole or not at all.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from launch.engines import inprocess
from server.folder import read_metrics
from tagma.settings import CONF, compose

_THAT_COMPUTE = ("tagma", "tasks", "strategies", "attacks", "client", "server")
"""Packages whose code decides what a run's result is."""


@dataclass(frozen=True)
class Cell:
    """One run of an experiment."""

    method: str
    trial: int
    overrides: tuple[str, ...]

    @property
    def key(self) -> str:
        """The identity of the result."""
        config = dict(compose(self.overrides).groups)
        top = {k: v for k, v in vars(compose(self.overrides)).items() if k not in _NOT_IDENTITY}
        text = json.dumps([config, top, code_fingerprint()], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


_NOT_IDENTITY = ("groups", "overrides", "output")


@cache
def code_fingerprint() -> str:
    """A hash of the source files that compute results."""
    digest = hashlib.sha256()
    root = CONF.parent
    for package in _THAT_COMPUTE:
        for file in sorted((root / package).rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def run_cell(overrides: tuple[str, ...]) -> dict[str, Any]:
    """The metrics of one run, in this process, with real Flower messages."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    with TemporaryDirectory() as scratch:
        inprocess.run(compose(overrides), Path(scratch), lambda event: None)
        return read_metrics(Path(scratch))


def result_file(folder: Path, key: str) -> Path:
    """Where the result of a cell is kept."""
    return folder / f"{key}.json"


def write_result(folder: Path, key: str, result: Mapping[str, Any]) -> None:
    """Keep a result; a reader never sees half of it, nor two writers each other."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{key}.{os.getpid()}"
    partial.write_text(json.dumps(result) + "\n")
    os.replace(partial, result_file(folder, key))


def read_result(folder: Path, key: str) -> dict[str, Any] | None:
    """The kept result of a cell, if there is one."""
    try:
        result: dict[str, Any] = json.loads(result_file(folder, key).read_text())
    except FileNotFoundError:
        return None
    return result
