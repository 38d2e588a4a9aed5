"""Where a run is after each round, in plain files, from which it can be resumed.

`checkpoint.rounds.jsonl` is a journal (`tagma.server.journal`): one line per round of what the
recorder remembers of it. A state file, `checkpoint.a.safetensors`, holds the state after a round
and nothing of those before: the arrays of the algorithm's state and the buffers of its models, and
as JSON the rest, the settings, the clients and the place in the journal, with what identifies the
run and a checksum of the whole file (`tagma.server.state_file`). So a round costs the same however
many there were. The state is taken apart and put together by the types of its fields
(`tagma.plain_state`), whichever algorithm's it is; what colluding clients remember is there, too,
so that they attack as they would have. Nothing is pickled.

There are two state files, and one of them is always whole: only the other is written to, in its
place, which is much faster than to make a new file. A file takes over when it has been forced to
the disk, which may take longer than a round and is done once a second at most. So a process that
dies leaves its last round, or, if it dies while it writes, a round of the last second; and so does
a computer that loses its power.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tagma import __version__
from tagma.arrays import Array
from tagma.errors import FederationError, TagmaError
from tagma.foreign_file import read_arrays
from tagma.layout import Named
from tagma.plain_state import put_together, taken_apart
from tagma.server.journal import Journal, Mark, read_lines
from tagma.server.results.events import RoundFinished
from tagma.server.results.recorder import Recorder, RoundRecord
from tagma.server.run_identity import identity_of
from tagma.server.state_file import sealed, unsealed
from tagma.settings import Settings
from tagma.strategies.algorithm_run import AlgorithmRun

CHECKPOINTS = ("checkpoint.a.safetensors", "checkpoint.b.safetensors")
JOURNAL = "checkpoint.rounds.jsonl"
_SYNC_SECONDS = 1.0
"""What a power cut may cost."""
_MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError,
)  # fmt: skip
"""What reading raises where something else was expected."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was when it last finished a round."""

    file: str
    run: str
    """That of `tagma.server.run_identity`."""
    overrides: tuple[str, ...]
    state: Any
    """JSON, with names of `tensors` in the places of arrays."""
    tensors: dict[str, Any]
    joined: dict[int, int]
    most: int
    """So many clients that take part were there at once."""
    buffers: list[Named]
    attack_memory: dict[int, Array]
    """What colluding clients remember."""
    mark: Mark
    """Up to where the journal belongs to it."""
    records: list[RoundRecord]
    warning: str | None = None
    """That another state file is damaged, or another run's."""

    @property
    def round(self) -> int:
        """The last round that was finished."""
        return len(self.records)

    def check(self, *, rounds: int) -> None:
        """Refuse to go on with settings that ask for no further round."""
        if rounds + 1 <= self.round:
            raise TagmaError(f"rounds={rounds}: {self.round - 1} are done already; set more")

    def is_of(self, run: str) -> None:
        """Refuse to be taken for another run's."""
        if self.run != run:
            raise TagmaError(f"{self.file}: is another run's, with other settings")

    def restore(self, strategy: AlgorithmRun[Any], recorder: Recorder) -> None:
        """Give a new strategy and a new recorder the memory of the old ones."""
        try:
            state = put_together(type(strategy.state), self.state, self.tensors)
            check_served(strategy, state, self.joined)
            layout = strategy.layout
            for named in self.buffers:
                layout.check_buffers(named)
            for vector in self.attack_memory.values():
                if vector.shape != (layout.size,) or vector.dtype != layout.dtype:
                    raise ValueError("what an attack remembers is of another model")
            recorder.restore(self.records)
        except (FederationError, *_MALFORMED) as problem:
            raise TagmaError(f"{self.file}: does not fit these settings ({problem})") from None
        strategy.resume(state, self.joined, self.buffers or strategy.buffers, self.most)


def check_served(run: AlgorithmRun[Any], state: Any, joined: Mapping[int, int]) -> None:
    """An error unless a state has models for clients that there can be, as they should be."""
    if min((*joined, *joined.values()), default=0) < 0:
        raise ValueError("it has a client, or a round, below 0")
    models, _ = run.algorithm.serve(state, np.array(sorted(joined), dtype=np.int64))
    if not len(models):
        raise ValueError("it has no models")


class CheckpointWriter:
    """An observer that notes every round, and writes the state after every so many.

    Not after the last: it is played again rather than remembered, whatever its replies are.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        recorder: Recorder,
        strategy: AlgorithmRun[Any],
        *,
        after: Checkpoint | None,
        attack_memory: Mapping[int, Array],
    ) -> None:
        self._folder = folder
        self._said = {
            "version": __version__,
            "run": identity_of(settings),
            "overrides": settings.overrides,
        }
        self._recorder = recorder
        self._strategy = strategy
        self._every = settings.checkpoint_every
        self._attack_memory = attack_memory
        self._journal = Journal(folder / JOURNAL, after.mark if after else Mark())
        self._whole = after.file if after else None
        self._synced_at = -_SYNC_SECONDS

    def __call__(self, event: RoundFinished) -> None:
        """Take down the round that the recorder saw last."""
        self._journal.append(taken_apart(self._recorder.latest, "", {}))
        if event.round % self._every == 0 and event.round < event.rounds:
            self._save()

    def close(self) -> None:
        """Let go of the journal."""
        self._journal.close()

    def _save(self) -> None:
        memory, mark = self._attack_memory, self._journal.mark
        try:
            content = _packed(self._said, self._strategy, memory, mark)
        except (TypeError, ValueError) as problem:
            raise TagmaError(f"strategy: its state cannot be checkpointed ({problem})") from problem
        now = time.monotonic()
        sync = now >= self._synced_at + _SYNC_SECONDS
        self._journal.flush(to_disk=sync)
        name = next(name for name in CHECKPOINTS if name != self._whole)
        path = self._folder / name
        if path.is_symlink() or not path.is_file():  # to somewhere else, or a pipe
            path.unlink(missing_ok=True)
        is_new = not path.exists()
        try:
            with path.open("wb" if is_new else "r+b") as file:
                file.writelines(content)
                file.truncate()
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
                    self._whole, self._synced_at = name, now
        except OSError:  # the disk is full
            if is_new:
                path.unlink()  # half of a state is none
            raise


def load_checkpoint(
    folder: Path, take: Callable[[Checkpoint], None] = lambda found: None
) -> Checkpoint:
    """The newest good checkpoint in a run folder; one line of error if there is none.

    One that `take` refuses, by an error, is none.
    """
    found, damaged = [], []
    for path in (folder / name for name in CHECKPOINTS):
        if path.is_symlink():
            damaged.append(f"{path}: is no file of this folder")
        elif path.is_file():
            try:
                found.append(_read(path))
            except (OSError, *_MALFORMED) as problem:
                damaged.append(f"{path}: cannot be read ({problem!s:.300})")
            except TagmaError as problem:
                damaged.append(str(problem))
    for newest in sorted(found, key=lambda checkpoint: -checkpoint.round):
        try:
            take(newest)
        except TagmaError as problem:
            damaged.append(f"{folder}/{problem}")
            continue
        if damaged:
            warning = f"{damaged[0]}; going on after round {newest.round}, from {newest.file}"
            return replace(newest, warning=warning)
        return newest
    nothing = f"{folder}: there is no checkpoint to resume from"
    raise TagmaError(damaged[0] if damaged else nothing)


def can_be_resumed(folder: Path) -> bool:
    """Whether there is a checkpoint, be it good or not."""
    return any((folder / name).is_file() for name in CHECKPOINTS)


def remove_checkpoints(folder: Path) -> None:
    """Leave nothing to resume from; the journal goes last, as nothing can be read without it."""
    for name in (*CHECKPOINTS, JOURNAL):
        (folder / name).unlink(missing_ok=True)


def _packed(
    said: Mapping[str, Any],
    strategy: AlgorithmRun[Any],
    attack_memory: Mapping[int, Array],
    mark: Mark,
) -> Iterable[bytes | memoryview]:
    arrays: dict[str, Any] = {}
    state = taken_apart(strategy.state, "state", arrays)
    for number, buffers in enumerate(strategy.buffers):
        arrays |= {f"buffers.{number}.{name}": array for name, array in buffers.items()}
    if attack_memory:
        arrays["attack.clients"] = np.array(list(attack_memory))
        arrays["attack.vectors"] = np.array(list(attack_memory.values()))
    about = {
        **said,
        "state": state,
        "joined": list(strategy.clients.joined.items()),
        "most": strategy.most,
        "journal": {"length": mark.length, "checksum": mark.checksum},
    }
    return sealed(arrays, about)


def _read(path: Path) -> Checkpoint:
    tensors, about = unsealed(read_arrays(path))
    if about["version"] != __version__:
        raise TagmaError(f"{path}: was written by version {about['version']} of Tagma")
    mark = put_together(Mark, about["journal"], {})
    lines = read_lines(path.with_name(JOURNAL), mark)  # one at a time
    return Checkpoint(
        file=path.name,
        run=put_together(str, about["run"], {}),
        overrides=put_together(tuple[str, ...], about["overrides"], {}),
        state=about["state"],
        tensors=tensors,
        joined=dict(put_together(tuple[tuple[int, int], ...], about["joined"], {})),
        most=put_together(int, about["most"], {}),
        buffers=_buffers(tensors),
        attack_memory=_attack_memory(tensors),
        mark=mark,
        records=[put_together(RoundRecord, line, {}) for line in lines],
    )


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
