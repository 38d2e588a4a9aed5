"""A cell that is one federation, in one process: on arrays, or with real Flower messages."""

import logging
import platform
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from tagma.bench.cell_identity import config_of_run, hash_of, versions
from tagma.bench.cell_store import FILES
from tagma.launch.engines.this_process import engine_here, run_here
from tagma.launch.oracle_run import with_oracle
from tagma.launch.run import check
from tagma.launch.tracking.tracker import Tracked, tracked
from tagma.plugins import build
from tagma.server.checkpoint import can_be_resumed
from tagma.server.results.run_folder import (
    CLUSTERS,
    HISTORY,
    METRICS,
    MODELS,
    read_metrics,
    write_metrics,
)
from tagma.settings import Settings, adopt, compose_seeds

_CHECKPOINT_EVERY = 5
_PICTURE = (METRICS, HISTORY, CLUSTERS, MODELS)
"""The files of a run that a picture of its clients is drawn from."""
_PARTS = {
    "metrics": {
        "scores", "misclustering", "ari", "misclustering_per_iteration", "oracle_scores",
        "oracle_error", "clusters", "replies", "seconds", "messages", "bytes",
    },
    "provenance": {"code", "version"},
    "timing": {"seconds", "host"},
}  # fmt: skip
"""What tables need of a result."""


@dataclass(frozen=True)
class FederationCell:
    """A whole federation, with settings that are composed already.

    Its result has the run's `metrics`, their `provenance` and the `timing`.
    """

    method: str
    trial: int
    settings: Settings
    picture: bool = False
    """Whether to keep the run's own files, too."""
    tags: tuple[tuple[str, str], ...] = ()
    """Its place on the axes of a grid, for a tracker."""
    tracked_in: Path | None = None
    """Where a tracker keeps its files."""
    kept_in: Path | None = None
    """Where a run of hours keeps its checkpoints until it is finished, to go on from them."""

    @classmethod
    def trials(cls, method: str, overrides: Sequence[str], seed: int, trials: int) -> list[Self]:
        """So many cells, trial t with the seed `seed + t`; the settings are checked."""
        seeds = range(seed, seed + trials)
        settings = compose_seeds((*overrides, "checkpoint_every=0"), seeds)
        check(settings[0])
        return [cls(method, trial, one) for trial, one in enumerate(settings)]

    @cached_property
    def key(self) -> str:
        """A hash of the resolved configuration, of the code and of what is kept."""
        return hash_of([type(self).__name__, self.picture, self.configuration, self.engine])

    @cached_property
    def engine(self) -> str:
        """The engine that it runs on."""
        return engine_here(self.settings)

    @cached_property
    def configuration(self) -> str:
        """A hash of the resolved configuration alone."""
        return config_of_run(vars(self.settings))

    @property
    def run_folder(self) -> Path | None:
        """The folder of an unfinished run that is to be kept."""
        return self.kept_in and self.kept_in / self.key

    def run(self) -> dict[str, Any]:
        """Run the federation in a folder of its own, which is gone in the end."""
        for name in ("flwr", "tagma.strategies"):  # what a round has to say is in its metrics
            logging.getLogger(name).setLevel(logging.ERROR)
        adopt(self.settings)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        wall, cpu = time.perf_counter(), time.process_time()
        with self._work_folder() as folder:
            with self._tracked(folder) as tracking:
                run_here(self._going_on(folder), folder, tracking.round)
                metrics = with_oracle(self.settings, read_metrics(folder))
                write_metrics(folder, metrics)
                tracking.end(metrics)
            files = {name: (folder / name).read_bytes() for name in _PICTURE}
        timing = {
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "host": platform.node(),
            "started": started,
        }
        result = {"metrics": metrics, "provenance": versions(), "timing": timing}
        return result | {FILES: files} if self.picture else result

    @contextmanager
    def _work_folder(self) -> Iterator[Path]:
        if self.run_folder is None:
            with TemporaryDirectory() as scratch:
                yield Path(scratch)
        else:
            yield self.run_folder
            shutil.rmtree(self.run_folder)  # not where the run broke off

    def _going_on(self, folder: Path) -> Settings:
        """The settings, with checkpoints if the folder is kept, and from the last one on."""
        if self.kept_in is None:
            return self.settings
        changed = {"checkpoint_every": _CHECKPOINT_EVERY, "resume": can_be_resumed(folder)}
        return self.settings.model_copy(update=changed)

    def _tracked(self, folder: Path) -> AbstractContextManager[Tracked]:
        """The run under the tracker of its settings, by the name of its place on the axes."""
        tracker = build("tracking", self.settings.choice("tracking"))
        tags = {**dict(self.tags), "seed": str(self.trial)}
        shown = [f"{key}={value}" for key, value in tags.items() if key not in ("grid", "role")]
        first = ["reference"] if tags.get("role") == "reference" else []
        name = re.sub(r"[^\w.=,-]+", "_", ",".join([*first, *shown]))
        place = (self.tracked_in or folder) / f"{name[:100]},{self.key[:8]}"
        return tracked(tracker, self.settings, folder, place=place, tags=tags)

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Whether tables can be made of it."""
        parts = ((result.get(name), needed) for name, needed in _PARTS.items())
        return all(isinstance(part, dict) and part.keys() >= needed for part, needed in parts)
