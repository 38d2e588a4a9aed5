"""`tagma assign`: the cluster and model of a client that was not there."""

from math import isfinite
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from tagma.client.solvers.solver_choice import solver_of
from tagma.errors import TagmaError
from tagma.foreign_file import read_arrays
from tagma.launch.command_line import CommandLine
from tagma.launch.console import say
from tagma.run_settings import settings_of_run
from tagma.server.results.run_folder import METRICS, MODELS, read_metrics
from tagma.strategies.screening.placement import place
from tagma.tasks.task import Data, SquaredDistance, Task
from tagma.tasks.task_choice import task_of

_HELP = """Which cluster a client belongs to that was not there when a run was made.

FOLDER is that of a finished `tagma run`. DATA is an .npz file of the client's examples: `inputs`,
n rows, and `targets`, n numbers (not for tasks without targets). Its local model is found as the
run's clients found theirs, and compared with the clusters: the nearest one whose ball holds it is
its own. A client that no ball holds fits none.

  tagma assign outputs/2026-11-16/12-00-00 mine.npz
  tagma assign outputs/2026-11-16/12-00-00 mine.npz --model mine.npy"""


def main(arguments: list[str]) -> None:
    """Place one client."""
    parser = CommandLine("assign", _HELP)
    parser.add_run_folder("of the finished run")
    parser.add_argument("data", type=Path, metavar="DATA", help="the client's examples")
    parser.add_argument("--model", type=Path, metavar="FILE", help="save its cluster's model here")
    given = parser.read(arguments)
    folder, path, save = given.folder, given.data, given.model
    if not (folder / METRICS).is_file() or not (folder / ".hydra").is_dir():
        raise TagmaError(f"{folder}: is not the folder of a finished tagma run")
    settings = settings_of_run(folder, trust=given.trust)
    task = task_of(settings)
    data = _data(path, task)
    models, centres = _models(folder)
    if data.inputs.shape[1] != models.shape[1]:
        raise TagmaError(
            f"{path}: inputs have {data.inputs.shape[1]} columns, the models {models.shape[1]}"
        )
    local = solver_of(settings)(task, data).model
    clusters = _clusters(folder)
    radii = np.array([np.inf if c["radius"] is None else c["radius"] for c in clusters])
    members = np.array([c["size"] - c["trimmed"] for c in clusters])
    found = place(local, centres, radii, members)
    cluster = found.cluster
    measure = f"{found.distance:.2f} of its ball" if isfinite(found.distance) else "it has no ball"
    if not found.inside:
        say(f"cluster: none; the nearest is {cluster}, but the distance is {measure}")
        if save is not None:
            raise TagmaError(f"--model {save}: there is no model for a client that fits no cluster")
        return
    say(f"cluster: {cluster} (distance: {measure})")
    if clusters[cluster]["suspect"]:
        say(f"suspect: {clusters[cluster]['suspect']}")
    theirs, own = task.loss(models[cluster], data), task.loss(local, data)
    say(f"loss: {theirs:.4g} (with its own local model: {own:.4g})")
    if save is not None:
        _save(save, models[cluster])
        say(f"model: {save}")


def _clusters(folder: Path) -> list[dict[str, Any]]:
    try:
        clusters = read_metrics(folder)["clusters"]
        return [
            {key: each[key] for key in ("radius", "size", "trimmed", "suspect")}
            for each in clusters
        ]
    except (ValueError, LookupError, TypeError) as problem:
        raise TagmaError(f"{folder / METRICS}: cannot be read ({problem})") from None


def _models(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        tensors = load(read_arrays(folder / MODELS))
        return tensors["models"], tensors["centres"]
    except (OSError, ValueError, KeyError, SafetensorError) as problem:
        raise TagmaError(f"{folder / MODELS}: cannot be read ({problem})") from None


def _data(path: Path, task: Task) -> Data:
    """The client's examples; what cannot be used is refused with one line."""
    try:
        arrays = np.load(path, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise TagmaError(f"{path}: is a single array; save it with np.savez(..., inputs=...)")
        with arrays as file:
            inputs = _numbers(path, "inputs", file["inputs"])
            if "targets" not in file and not isinstance(task, SquaredDistance):
                raise TagmaError(f"{path}: has no targets, which this task's loss needs")
            targets = file["targets"] if "targets" in file else np.zeros(len(inputs))
            data = Data(inputs, _numbers(path, "targets", targets))
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as problem:
        raise TagmaError(f"{path}: cannot be read as examples ({problem})") from None
    if data.inputs.ndim != 2 or data.targets.shape != data.inputs.shape[:1]:
        raise TagmaError(f"{path}: inputs must be n rows and targets n numbers")
    if not len(data.inputs):
        raise TagmaError(f"{path}: has no examples")
    return data


def _numbers(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise TagmaError(f"{path}: {name} must be real numbers, not {array.dtype}")
    if not np.isfinite(array).all():
        raise TagmaError(f"{path}: {name} holds numbers that are not finite")
    return np.asarray(array, dtype=np.float64)


def _save(path: Path, model: np.ndarray) -> None:
    try:
        with path.open("wb") as file:  # np.save itself would add an ending to the name
            np.save(file, model)
    except OSError as problem:
        raise TagmaError(f"--model {path}: cannot be written ({problem.strerror})") from None
