"""The state after each round in one plain file, from which a run can be resumed.

`checkpoint.safetensors` holds the arrays of the algorithm's state, the buffers of its models, and
what colluding clients remember, so that they attack as they would have; its header holds, as JSON,
the rest: settings, clients and what has been recorded so far. It is written beside its place and
then moved there, so that a server that dies at any moment leaves the previous round's file or the
new one, never half of one. The state is taken apart and put together by the types of its fields
(`tagma.plain_state`), whichever algorithm's it is. Nothing is pickled.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagma import __version__
from tagma.arrays import Array
from tagma.atomic_file import whole_file
from tagma.errors import FederationError, TagmaError
from tagma.layout import Named
from tagma.plain_state import put_together, taken_apart
from tagma.server.results.events import RoundFinished
from tagma.server.results.recorder import Recorder
from tagma.strategies.algorithm_run import AlgorithmRun

CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was when it last finished a round."""

    overrides: list[str]
    state: Any
    """JSON, with names of `tensors` in the places of arrays."""
    tensors: dict[str, Any]
    joined: dict[int, int]
    buffers: list[Named]
    attack_memory: dict[int, Array]
    events: list[RoundFinished]
    record: dict[str, Any]

    @property
    def round(self) -> int:
        """The last round that was finished."""
        return len(self.events)

    def check(self, *, rounds: int) -> None:
        """Refuse to go on with settings that ask for no further round."""
        if rounds + 1 <= self.round:
            raise TagmaError(f"rounds={rounds}: {self.round - 1} are done already; set more")

    def restore(self, strategy: AlgorithmRun[Any], recorder: Recorder) -> None:
        """Give a new strategy and a new recorder the memory of the old ones."""
        try:
            state = put_together(type(strategy.state), self.state, self.tensors)
            clients = np.array(sorted(self.joined), dtype=np.int64)
            strategy.algorithm.serve(state, clients)  # which checks that they fit
        except (
            FederationError, KeyError, TypeError, ValueError, AttributeError, IndexError
        ) as problem:  # fmt: skip
            raise TagmaError(f"{CHECKPOINT}: does not fit these settings ({problem})") from None
        strategy.resume(state, self.joined, self.buffers or strategy.buffers)
        recorder.restore(self.record, self.events)


def save_checkpoint(
    folder: Path,
    overrides: tuple[str, ...],
    recorder: Recorder,
    strategy: AlgorithmRun[Any],
    attack_memory: Mapping[int, Array],
) -> None:
    """Write the state after the round that the recorder saw last."""
    tensors: dict[str, Any] = {}
    state = taken_apart(strategy.state, "state", tensors)
    for number, buffers in enumerate(strategy.buffers):
        tensors |= {f"buffers.{number}.{name}": array for name, array in buffers.items()}
    if attack_memory:
        tensors["attack.clients"] = np.array(list(attack_memory))
        tensors["attack.vectors"] = np.array(list(attack_memory.values()))
    about = {
        "version": __version__,
        "overrides": overrides,
        "state": state,
        "joined": list(strategy.clients.joined.items()),
        "events": [asdict(event) for event in recorder.events],
        "record": recorder.record(),
    }
    plain = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    content = save(plain, metadata={"tagma": json.dumps(about)})
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
        return Checkpoint(
            overrides=list(about["overrides"]),
            state=about["state"],
            tensors=tensors,
            joined={int(client): int(number) for client, number in about["joined"]},
            buffers=_buffers(tensors),
            attack_memory=_attack_memory(tensors),
            events=[RoundFinished(**event) for event in about["events"]],
            record=dict(about["record"]),
        )
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise TagmaError(f"{path}: cannot be read ({problem})") from None


def _buffers(tensors: dict[str, Any]) -> list[Named]:
    found: dict[int, dict[str, Any]] = {}
    for name, array in tensors.items():
        if name.startswith("buffers."):
            _, number, buffer = name.split(".", 2)
            found.setdefault(int(number), {})[buffer] = array
    return [found[number] for number in sorted(found)]


def _attack_memory(tensors: dict[str, Any]) -> dict[int, Array]:
    if "attack.clients" not in tensors:
        return {}
    clients = tensors["attack.clients"].tolist()
    return dict(zip(clients, tensors["attack.vectors"], strict=True))
