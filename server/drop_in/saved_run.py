"""Where a run in somebody else's app is, in one plain file, from which the next `start` goes on.

The state of the algorithm as in our own checkpoints, who is who by node id, and the metrics so far.
Nodes that have new ids after a restart are newcomers. Written whole after every round; nothing is
pickled.
"""

from pathlib import Path
from typing import Any

from flwr.app import MetricRecord

from tagma import __version__
from tagma.atomic_file import whole_file
from tagma.errors import SettingError, TagmaError
from tagma.plain_state import put_together, taken_apart
from tagma.server.drop_in.result import ClusteredResult
from tagma.server.state_file import sealed, unsealed
from tagma.strategies.algorithm_run import AlgorithmRun

_KINDS = ("train_metrics_clientapp", "evaluate_metrics_clientapp", "evaluate_metrics_serverapp")
_MALFORMED = (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError, TagmaError)


class SavedRun:
    """The checkpoint of a run, in a folder of the user's."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "checkpoint.safetensors"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise SettingError("checkpoint", folder, f"cannot be a folder ({reason})") from None

    @property
    def exists(self) -> bool:
        """Whether a run was broken off."""
        return self.file.is_file()

    def remove(self) -> None:
        """The run is over; what a process that was killed left of a file goes as well."""
        for file in (self.file, *self.file.parent.glob(f".{self.file.name}.*")):
            file.unlink(missing_ok=True)

    def save(self, run: AlgorithmRun[Any], number: int, result: ClusteredResult) -> None:
        """The state after a round."""
        arrays: dict[str, Any] = {}
        state = taken_apart(run.state, "state", arrays)
        for row, buffers in enumerate(run.buffers):
            arrays |= {f"buffers.{row}.{name}": array for name, array in buffers.items()}
        about = {
            "version": __version__,
            "round": number,
            "model": _described(run),
            "state": state,
            "joined": list(run.clients.joined.items()),
            "most": run.most,
            "nodes": [(str(node), client) for node, client in run.clients.of_node.items()],
            "metrics": {kind: _plain(getattr(result, kind)) for kind in _KINDS},
        }
        with whole_file(self.file) as partial, partial.open("wb") as file:
            file.writelines(sealed(arrays, about))

    def restore(self, run: AlgorithmRun[Any], result: ClusteredResult) -> int:
        """Give a new run the memory of the old one; the last round that was finished."""
        try:
            tensors, about = unsealed(self.file.read_bytes())
            if about["version"] != __version__ or about["model"] != _described(run):
                raise ValueError("it is of another model or version")
            state = put_together(type(run.state), about["state"], tensors)
            joined = dict(put_together(tuple[tuple[int, int], ...], about["joined"], {}))
            nodes = dict(put_together(tuple[tuple[str, int], ...], about["nodes"], {}))
            run.resume(state, joined, [
                {part.name: tensors[f"buffers.{row}.{part.name}"] for part in run.layout.buffers}
                for row in range(_rows(tensors))
            ] or run.buffers, int(about["most"]))  # fmt: skip
            for node, client in nodes.items():
                run.clients.seat(int(node), client)
            run.algorithm.serve(state, run.clients.numbers)  # which checks that they fit
            for kind in _KINDS:
                told = {int(n): MetricRecord(each) for n, each in about["metrics"][kind].items()}
                getattr(result, kind).update(told)
            return int(about["round"])
        except _MALFORMED as problem:
            raise TagmaError(
                f"{self.file}: cannot be gone on from ({problem}); remove it to begin anew"
            ) from None


def _described(run: AlgorithmRun[Any]) -> list[list[Any]]:
    return [[part.name, list(part.shape), part.dtype] for part in run.layout.parts]


def _rows(tensors: dict[str, Any]) -> int:
    return len({name.split(".", 2)[1] for name in tensors if name.startswith("buffers.")})


def _plain(records: dict[int, MetricRecord]) -> dict[str, dict[str, Any]]:
    return {str(number): dict(record) for number, record in records.items()}
