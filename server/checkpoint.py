"""The state after each round in one plain file, from which a run can be resumed.

`checkpoint.safetensors` holds the arrays of the server's state; its header holds, as JSON, the
rest: settings and what has been recorded so far. It is written beside its place and then moved
there, so that a server that dies at any moment leaves the previous round's file or the new one,
never half of one. Dataclasses are written field by field: arrays as tensors, everything else as
JSON, None not at all. Nothing is pickled.
"""

import json
import os
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagma import __version__
from tagma.atomic_file import whole_file
from tagma.errors import TagmaError
from tagma.server.results.events import RoundFinished
from tagma.server.results.recorder import Recorder
from tagma.strategies.algorithms.three_stage import NO_CLUSTER, State
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.standing import Standing

CHECKPOINT = "checkpoint.safetensors"
_PARTS: dict[str, Any] = {"clustering": Clustering, "standing": Standing}
"""The fields of the state that are dataclasses themselves."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was when it last finished a round."""

    overrides: list[str]
    state: State
    events: list[RoundFinished]
    record: dict[str, Any]

    @property
    def round(self) -> int:
        """The last round that was finished."""
        return len(self.events)

    def check(self, *, dim: int, rounds: int) -> None:
        """Refuse to go on with settings that the state does not fit."""
        if self.state.models.shape[1] != dim:
            raise TagmaError(
                f"{CHECKPOINT}: has models of {self.state.models.shape[1]} numbers, not {dim}"
            )
        if rounds + 1 <= self.round:
            raise TagmaError(f"rounds={rounds}: {self.round - 1} are done already; set more")

    def restore(self, recorder: Recorder) -> None:
        """Give a new recorder the memory of the old one."""
        record = self.record
        recorder.state = self.state
        recorder.events[:] = self.events
        recorder.messages = record["messages"]
        recorder.seconds |= record["seconds"]
        recorder.rejected = defaultdict(Counter)
        for client, reasons in record["rejected"]:
            recorder.rejected[client] = Counter(reasons)
        recorder.returned = dict(record["returned"])
        recorder.kept = dict(record["kept"])
        recorder.resumed = [*record["resumed"], self.round + 1]


def save_checkpoint(folder: Path, overrides: tuple[str, ...], recorder: Recorder) -> None:
    """Write the state after the round that the recorder saw last."""
    assert recorder.state is not None
    record = {
        "events": [asdict(event) for event in recorder.events],
        "messages": recorder.messages,
        "seconds": recorder.seconds,
        "rejected": [(client, dict(reasons)) for client, reasons in recorder.rejected.items()],
        "returned": list(recorder.returned.items()),
        "kept": list(recorder.kept.items()),
        "resumed": recorder.resumed,
    }
    tensors, values = _taken_apart(recorder.state)
    about = {"version": __version__, "overrides": overrides, "record": record, "values": values}
    content = save(tensors, metadata={"tagma": json.dumps(about)})
    with whole_file(folder / CHECKPOINT) as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def load_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in a run folder; one line of error if there is none to read."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise TagmaError(f"{folder}: there is no {CHECKPOINT} to resume from")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["tagma"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if about["version"] != __version__:
            raise TagmaError(f"{path}: was written by version {about['version']} of Tagma")
        state = _put_together(tensors, about["values"])
        _check_consistent(state)
        events = [RoundFinished(**event) for event in about["record"].pop("events")]
        return Checkpoint(list(about["overrides"]), state, events, about["record"])
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise TagmaError(f"{path}: cannot be read ({problem})") from None


def _check_consistent(state: State) -> None:
    """Shapes and ranges that every state has."""
    m, (k, d) = len(state.clients), state.models.shape
    one_each = (state.labels, state.trimmed, state.joined, state.standing.counts)
    if state.local_models.shape != (m, d) or any(array.shape != (m,) for array in one_each):
        raise ValueError("its arrays do not fit together")
    if state.clustering.centres.shape != (k, d) or len(state.clustering.radius) != k:
        raise ValueError("its clusters do not fit its models")
    if not ((state.labels >= NO_CLUSTER) & (state.labels < k)).all():
        raise ValueError("a client is in a cluster that is not there")


def _taken_apart(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    tensors, values = {}, {}
    parts = {f.name: getattr(state, f.name) for f in fields(state) if f.name not in _PARTS}
    for name, kind in _PARTS.items():
        part = getattr(state, name)
        parts |= {f"{name}.{f.name}": getattr(part, f.name) for f in fields(kind)}
    for name, value in parts.items():
        if isinstance(value, np.ndarray):
            tensors[name] = np.ascontiguousarray(value)
        elif value is not None:
            values[name] = value
    return tensors, values


def _put_together(tensors: dict[str, Any], values: dict[str, Any]) -> State:
    parts = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in (tensors | values).items()
    }
    outer: dict[str, Any] = {name: value for name, value in parts.items() if "." not in name}
    for name, kind in _PARTS.items():
        prefix = f"{name}."
        inner = {k.removeprefix(prefix): v for k, v in parts.items() if k.startswith(prefix)}
        outer[name] = kind(**inner)
    return State(**outer)
