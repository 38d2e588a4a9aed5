"""The run folder: plain files that other programs can read.

history.csv and events.jsonl (`tagma.server.results.run_events`) grow while the run goes on; the
other files appear when it is over, metrics.json last, so that a folder with metrics.json is a whole
result.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels
from tagma.atomic_file import whole_file
from tagma.escaping import TableWriter
from tagma.exchange import CHOICE, NO_MODEL
from tagma.foreign_file import read_json
from tagma.layout import Named
from tagma.server.results.client_metrics import ClientMetric
from tagma.server.results.detection import SHARES
from tagma.server.results.events import RoundFinished
from tagma.server.results.principal_plane import places_on, principal_plane
from tagma.server.results.recorder import Recorder
from tagma.server.results.scores import Score
from tagma.server.results.tensor_file import write_tensors
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.tasks.supervised import Supervised
from tagma.tasks.task import Task, WithStateDict, layout_of

METRICS, HISTORY, CLUSTERS, MODELS, INPUTS = (
    "metrics.json", "history.csv", "clusters.csv", "models.safetensors", "inputs.json",
)  # fmt: skip
REPORT, LOG, EVENTS = "report.html", "run.log", "events.jsonl"
FIGURES = ("misclustering", "error", "strips", "clients", "losses")
RESULTS = (
    *(METRICS, HISTORY, CLUSTERS, MODELS, INPUTS, REPORT, EVENTS),
    *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")),
)
"""Every file that a run leaves, but for logs and settings."""
_CLUSTER_COLUMNS = (
    "client", "assigned", "true", "byzantine", "trimmed", "x", "y", "joined", "quarantined",
    "excluded",
)  # fmt: skip
_USED = "used"
"""The last column, where clients may use another model than their cluster's."""
_TAKEN = (*_CLUSTER_COLUMNS, _USED)
_COUNTED = (
    "used", "rejected", "kept", "repeats", *SHARES, "bytes_down", "bytes_up", "seconds",
)  # fmt: skip


def remove_results(folder: Path) -> None:
    """Leave nothing of an earlier run that could be taken for this one's."""
    if (figures := folder / "figures").is_symlink():  # to somebody else's
        figures.unlink()
    for path in (*(folder / name for name in RESULTS), *figures.glob("score-*")):
        path.unlink(missing_ok=True)


class History:
    """An observer that appends every round to history.csv, with a column for every score."""

    def __init__(
        self, folder: Path, scores: Sequence[Score], so_far: Sequence[RoundFinished] = ()
    ) -> None:
        self._scores = [score.name for score in scores]
        self._file = (folder / HISTORY).open("w", newline="", encoding="utf-8")
        self._table = TableWriter(self._file, lineterminator="\r\n")
        self._table.row(["round", "work", *self._scores, *_COUNTED])
        for event in so_far:
            self._add(event)
        self._file.flush()

    def __call__(self, event: RoundFinished) -> None:
        """Append one row, to be seen at once."""
        self._add(event)
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _add(self, event: RoundFinished) -> None:
        scores = [event.scores[name] for name in self._scores]
        counted = [getattr(event, name) for name in _COUNTED]
        self._table.row([event.round, event.work, *scores, *counted])


@dataclass(frozen=True)
class ClientPlaces:
    """Where clients are on a plane, and the plane."""

    places: Mapping[int, Array]
    origin: Array
    directions: Array


def places_of(recorder: Recorder, found: Clustered | None) -> ClientPlaces | None:
    """The clients by their local models, or, where no clusters are looked for, by what they sent.

    The latter in the last round: gradients, or models after local training.
    """
    clients, vectors = _drawn(recorder, found)
    if not len(clients):
        return None
    origin, directions = principal_plane(vectors)
    places = places_on(directions, origin, vectors)
    return ClientPlaces(dict(zip(clients.tolist(), places, strict=True)), origin, directions)


def _drawn(recorder: Recorder, found: Clustered | None) -> tuple[Labels, Array]:
    if found is not None:
        return found.clients, found.local_models
    replies = None if recorder.last is None else recorder.last.replies
    return (np.empty(0, int), np.empty((0, 0))) if replies is None else (
        replies.clients, replies.vectors
    )  # fmt: skip


def write_clusters(
    folder: Path, recorder: Recorder, found: Clustered | None, drawn: ClientPlaces | None
) -> None:
    """clusters.csv: who is where, and what each measured; what nobody knows is left empty."""
    last, truth, byzantine = recorder.last, recorder.truth, recorder.byzantine
    assert last is not None
    assigned = dict(zip(last.clients.tolist(), last.which.tolist(), strict=True))
    held = {} if found is None else _held(found)
    places = {} if drawn is None else drawn.places
    measured = [
        one.name for one in recorder.scores
        if isinstance(one, ClientMetric) and one.of is None and one.name not in _TAKEN
    ]  # fmt: skip
    with (folder / CLUSTERS).open("w", newline="", encoding="utf-8") as file:
        table = TableWriter(file, lineterminator="\r\n")
        chose = any(CHOICE in told for told in last.evaluations.values())
        used = dict(zip(last.clients.tolist(), recorder.seen.used.tolist(), strict=True))
        table.row([*_CLUSTER_COLUMNS, *measured, *([_USED] if chose else [])])
        absent = {client for client in recorder.rejected if client is not None}
        for client in sorted(assigned.keys() | absent):
            true = forger = ""
            if truth and client < len(truth.labels) and truth.labels[client] >= 0:
                true = str(truth.labels[client])
            if truth is not None and byzantine is not None and client < len(byzantine):
                forger = str(int(byzantine[client]))
            model = assigned.get(client, NO_MODEL)
            joined = "" if client not in assigned else recorder.joined.get(client, 1)
            trimmed, *screened = held.get(client, [""] * 3)
            place = [repr(float(number)) for number in places.get(client, ())] or ["", ""]
            row = [client, "" if model == NO_MODEL else model, true, forger, trimmed, *place]
            told = last.evaluations.get(client, {})
            values = [repr(told[name]) if name in told else "" for name in measured]
            own = used.get(client, NO_MODEL)
            values += ["" if own == NO_MODEL else str(own)] if chose else []
            table.row([*row, joined, *screened, *values])


def _held(found: Clustered) -> dict[int, list[int]]:
    """Whether each client is outside its ball, in quarantine, and excluded."""
    columns = (found.trimmed, found.standing.quarantined, found.standing.excluded)
    rows = zip(*(column.astype(int).tolist() for column in columns), strict=True)
    return dict(zip(found.clients.tolist(), map(list, rows), strict=True))


def write_models(
    folder: Path,
    models: Array,
    found: Clustered | None,
    drawn: ClientPlaces | None,
    task: Task,
    buffers: Sequence[Named],
) -> None:
    """models.safetensors: all models as vectors, and each by the names of its arrays.

    The arrays of model k are called `k/NAME`: what a torch module's `load_state_dict` takes, if the
    format is called `pt`.
    """
    layout = layout_of(task)
    named = task.state_dict if isinstance(task, WithStateDict) else layout.named
    tensors: dict[str, Any] = {"models": models}
    if found is not None:
        tensors["centres"] = found.clustering.centres
    if drawn is not None:
        tensors |= {"projection": drawn.directions, "origin": drawn.origin}
    for k, model in enumerate(models):
        own = named(model, buffers[min(k, len(buffers) - 1)] if buffers else {})
        tensors |= {f"{k}/{name}": array for name, array in own.items()}
    kind = "pt" if isinstance(task, WithStateDict) else "np"
    arrays = {name: np.asarray(array) for name, array in tensors.items()}
    write_tensors(folder / MODELS, arrays, {"format": kind})


def write_inputs(folder: Path, task: Task) -> None:
    """inputs.json, where a task knows how raw examples become what its models take."""
    if isinstance(task, Supervised):
        text = json.dumps(task.preparation.described(), allow_nan=False)
        (folder / INPUTS).write_text(text + "\n", encoding="utf-8")


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """metrics.json, at once and whole."""
    with whole_file(folder / METRICS) as partial:
        partial.write_text(json.dumps(metrics, indent=2, allow_nan=False) + "\n")


def read_metrics(folder: Path) -> dict[str, Any]:
    """The metrics of a finished run."""
    metrics: dict[str, Any] = read_json(folder / METRICS)
    return metrics
