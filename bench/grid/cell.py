"""A cell of a grid: one federation, and what is kept of it."""

import logging
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tagma import __version__
from tagma.bench.cell_identity import code_fingerprint, config_of_run, hash_of
from tagma.bench.cells import FILES
from tagma.launch.engines import inprocess
from tagma.launch.oracle_run import oracle_errors
from tagma.server.results.run_folder import (
    CLUSTERS,
    HISTORY,
    METRICS,
    MODELS,
    read_metrics,
    write_metrics,
)
from tagma.settings import Settings, adopt

_PICTURE = (METRICS, HISTORY, CLUSTERS, MODELS)
"""The files of a run that a picture of its clients is drawn from."""
_PARTS = {
    "metrics": {
        "estimation_error", "estimation_error_per_round", "misclustering",
        "misclustering_per_iteration", "oracle_error", "clusters", "replies", "seconds", "messages",
    },
    "provenance": {"code", "version"},
    "timing": {"seconds", "host"},
}  # fmt: skip
"""What the tables need of a result."""


@dataclass(frozen=True)
class GridCell:
    """A whole federation in one process, with settings that are composed already."""

    method: str
    trial: int
    settings: Settings
    picture: bool
    """Whether to keep the run's own files, too."""

    @cached_property
    def key(self) -> str:
        """A hash of the resolved configuration and the code."""
        return hash_of(["grid", self.configuration])  # its result says more than metrics

    @cached_property
    def configuration(self) -> str:
        """A hash of the resolved configuration alone."""
        return config_of_run(vars(self.settings))

    def run(self) -> dict[str, Any]:
        """Run the federation; its metrics, where they come from, and what it took."""
        logging.getLogger("flwr").setLevel(logging.ERROR)
        adopt(self.settings)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        wall, cpu = time.perf_counter(), time.process_time()
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            inprocess.run(self.settings, folder, lambda event: None)
            write_metrics(folder, read_metrics(folder) | oracle_errors(self.settings))
            metrics = read_metrics(folder)
            files = {name: (folder / name).read_bytes() for name in _PICTURE}
        timing = {
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "host": platform.node(),
            "started": started,
        }
        result = {"metrics": metrics, "provenance": versions(), "timing": timing}
        return result | {FILES: files} if self.picture else result

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Whether the tables can be made of it."""
        parts = ((result.get(name), needed) for name, needed in _PARTS.items())
        return all(isinstance(part, dict) and part.keys() >= needed for part, needed in parts)


@cache
def versions() -> dict[str, str]:
    """What a result was made with."""
    return {
        "code": code_fingerprint()[:24],
        "version": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "torch", "flwr")},
    }
