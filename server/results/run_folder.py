"""The run folder: plain files that other programs can read.

history.csv grows while the run goes on; the other files appear when it is over, metrics.json last,
so that a folder with metrics.json is a whole result.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tagma.atomic_file import whole_file
from tagma.server.results.events import RoundFinished
from tagma.server.results.principal_plane import principal_plane
from tagma.server.results.recorder import Recorder
from tagma.strategies.algorithms.three_stage import NO_CLUSTER

METRICS, HISTORY, CLUSTERS, MODELS = (
    "metrics.json", "history.csv", "clusters.csv", "models.safetensors",
)  # fmt: skip
FIGURES = ("misclustering", "error", "clients", "losses")
RESULTS = (
    *(METRICS, HISTORY, CLUSTERS, MODELS, "report.html"),
    *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")),
)
"""Every file that a run leaves, but for logs and settings."""
_CLUSTER_COLUMNS = (
    "client", "assigned", "true", "byzantine", "trimmed", "x", "y", "joined", "quarantined",
    "excluded",
)  # fmt: skip
_HISTORY_COLUMNS = [field.name for field in fields(RoundFinished) if field.name != "rounds"]


class History:
    """An observer that appends every round to history.csv."""

    def __init__(self, folder: Path, so_far: Sequence[RoundFinished] = ()) -> None:
        self._path = folder / HISTORY
        self._write(_HISTORY_COLUMNS, "w")
        for event in so_far:
            self(event)

    def __call__(self, event: RoundFinished) -> None:
        """Append one row."""
        self._write([getattr(event, name) for name in _HISTORY_COLUMNS], "a")

    def _write(self, row: list[Any], mode: str) -> None:
        with self._path.open(mode, newline="") as file:
            csv.writer(file).writerow(row)


def write_clusters(folder: Path, recorder: Recorder) -> None:
    """clusters.csv and models.safetensors: who is where, and the models."""
    state = recorder.state
    assert state is not None
    origin, plane = principal_plane(state.local_models)
    places = (state.local_models - origin) @ plane.T
    truth, byzantine, standing = recorder.truth, recorder.byzantine, state.standing
    with (folder / CLUSTERS).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(_CLUSTER_COLUMNS)
        rows = {int(client): row for row, client in enumerate(state.clients)}
        absent = {client for client in recorder.rejected if client is not None}
        for client in sorted(rows.keys() | absent):
            true = ""
            if truth and client < len(truth.labels) and truth.labels[client] >= 0:
                true = str(truth.labels[client])
            lies = ""
            if truth is not None and byzantine is not None and client < len(byzantine):
                lies = str(int(byzantine[client]))
            row = rows.get(client)
            found: list[Any] = [""] * 7
            if row is not None:
                assigned = "" if state.labels[row] == NO_CLUSTER else state.labels[row]
                place = [repr(float(number)) for number in places[row]]
                held = [int(standing.quarantined[row]), int(standing.excluded[row])]
                found = [assigned, int(state.trimmed[row]), *place, state.joined[row], *held]
            table.writerow([client, found[0], true, lies, *found[1:]])
    tensors = {
        "models": state.models,
        "centres": state.clustering.centres,
        "projection": plane,
        "origin": origin,
    }
    # Not `save_file`, whose errors are not OSErrors when the disk is full.
    content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
    (folder / MODELS).write_bytes(content)


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """metrics.json, at once and whole."""
    with whole_file(folder / METRICS) as partial:
        partial.write_text(json.dumps(metrics, indent=2, allow_nan=False) + "\n")


def read_metrics(folder: Path) -> dict[str, Any]:
    """The metrics of a finished run."""
    metrics: dict[str, Any] = json.loads((folder / METRICS).read_text())
    return metrics
