"""Where a run in somebody else's app is, in one plain file, from which the next `start` goes on.

The state of the algorithm as in our own checkpoints, who is who by node id, the metrics so far, and
what identifies the run: model, algorithm and seed. Nodes that have new ids after a restart are
newcomers. Written whole after every round, with the file before kept; nothing is pickled.
"""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flwr.app import MetricRecord

from tagma import __version__
from tagma.atomic_file import remove_partials, whole_file
from tagma.errors import SettingError, TagmaError
from tagma.foreign_file import read_arrays
from tagma.layout import Named
from tagma.plain_state import put_together, taken_apart
from tagma.server.checkpoint import check_served
from tagma.server.drop_in.result import ClusteredResult
from tagma.server.folder_lock import only_writer
from tagma.server.state_file import sealed, unsealed
from tagma.strategies.algorithm_run import AlgorithmRun

_log = logging.getLogger("tagma")
_KINDS = ("train_metrics_clientapp", "evaluate_metrics_clientapp", "evaluate_metrics_serverapp")
_MALFORMED = (
    OSError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError,
    RecursionError, TagmaError,
)  # fmt: skip


class SavedRun:
    """The checkpoint of a run, in a folder of the user's; `described` says which run it is."""

    def __init__(self, folder: Path, described: Any) -> None:
        self.folder = folder
        self.file = folder / "checkpoint.safetensors"
        self._before = folder / "checkpoint.before.safetensors"
        self._described = json.dumps(described, sort_keys=True, default=repr)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise SettingError("checkpoint", folder, f"cannot be a folder ({reason})") from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """No other run may have the folder; what one that was killed left half written is gone."""
        with only_writer(self.folder):
            remove_partials(self.folder)
            yield

    @property
    def exists(self) -> bool:
        """Whether a run was broken off."""
        return self.file.exists() or self._before.exists()

    def remove(self) -> None:
        """The run is over."""
        for file in (self._before, self.file):
            file.unlink(missing_ok=True)

    def save(self, run: AlgorithmRun[Any], number: int, result: ClusteredResult) -> None:
        """The state after a round."""
        arrays: dict[str, Any] = {}
        state = taken_apart(run.state, "state", arrays)
        for row, buffers in enumerate(run.buffers):
            arrays |= {f"buffers.{row}.{name}": array for name, array in buffers.items()}
        about = {
            "version": __version__,
            "run": self._described,
            "round": number,
            "model": _layout(run),
            "state": state,
            "joined": list(run.clients.joined.items()),
            "nodes": [(str(node), client) for node, client in run.clients.of_node.items()],
            "metrics": {kind: _plain(getattr(result, kind)) for kind in _KINDS},
        }
        with whole_file(self.file) as partial:
            with partial.open("wb") as file:
                file.writelines(sealed(arrays, about))
            with suppress(FileNotFoundError):
                os.replace(self.file, self._before)

    def restore(self, run: AlgorithmRun[Any], result: ClusteredResult) -> int:
        """Give a new run the memory of the old one; the last round that was finished."""
        problems = []
        for file in (self.file, self._before):
            try:
                number = self._restore(file, run, result)
            except _MALFORMED as problem:
                if file.exists():
                    why = " ".join(str(problem).split())
                    problems.append(f"{file}: cannot be gone on from ({why:.300})")
                continue
            for said in problems:
                _log.warning("%s; going on after round %d, from %s", said, number, file.name)
            return number
        raise TagmaError(f"{problems[0]}; remove it to begin anew")

    def _restore(self, file: Path, run: AlgorithmRun[Any], result: ClusteredResult) -> int:
        tensors, about = unsealed(read_arrays(file))
        if about["version"] != __version__ or about["model"] != _layout(run):
            raise ValueError("it is of another model or version")
        if about["run"] != self._described:
            raise ValueError("it is of another run, with other arguments")
        state = put_together(type(run.first_state), about["state"], tensors)
        joined = dict(put_together(tuple[tuple[int, int], ...], about["joined"], {}))
        nodes = dict(put_together(tuple[tuple[str, int], ...], about["nodes"], {}))
        buffers: list[Named] = [
            {part.name: tensors[f"buffers.{row}.{part.name}"] for part in run.layout.buffers}
            for row in range(_rows(tensors))
        ]
        for named in buffers:
            run.layout.check_buffers(named)
        metrics = {
            kind: {int(n): MetricRecord(each) for n, each in about["metrics"][kind].items()}
            for kind in _KINDS
        }
        number = put_together(int, about["round"], {})
        check_served(run, state, joined)
        of_node = {int(node): client for node, client in nodes.items()}
        if number < 1 or not set(of_node.values()) <= joined.keys():
            raise ValueError("it has a node that is nobody's")
        run.resume(state, joined, buffers or run.buffers)
        for node, client in of_node.items():
            run.clients.seat(node, client)
        for kind, told in metrics.items():
            getattr(result, kind).update(told)
        return number


def _layout(run: AlgorithmRun[Any]) -> list[list[Any]]:
    return [[part.name, list(part.shape), part.dtype] for part in run.layout.parts]


def _rows(tensors: dict[str, Any]) -> int:
    return len({name.split(".", 2)[1] for name in tensors if name.startswith("buffers.")})


def _plain(records: dict[int, MetricRecord]) -> dict[str, dict[str, Any]]:
    return {str(number): dict(record) for number, record in records.items()}
