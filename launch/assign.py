"""`tagma assign`: the cluster and model of a client that was not there."""

from pathlib import Path

import numpy as np
from omegaconf import OmegaConf
from safetensors.numpy import load_file

from client.solvers.chosen import solver_of
from launch.console import say
from server.folder import METRICS, MODELS, read_metrics
from tagma.arrays import Array
from tagma.errors import TagmaError
from tagma.settings import Settings, compose
from tasks.chosen import task_of
from tasks.task import Data

_HELP = """tagma assign FOLDER DATA.npz [--model FILE.npy]: which cluster a new client belongs to.

FOLDER is that of a finished `tagma run`. DATA.npz holds the client's examples: `inputs`, n rows,
and `targets`, n numbers (not for tasks without targets). Its local model is found as the run's
machines found theirs, and compared with the clusters: the nearest one whose ball holds it is its
own, and --model saves that cluster's model. A client that no ball holds fits none.

  tagma assign outputs/2026-11-16/12-00-00 mine.npz --model mine.npy"""


def main(arguments: list[str]) -> None:
    """Place one client."""
    if not arguments or "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    save = None
    if "--model" in arguments[:-1]:
        at = arguments.index("--model")
        save = Path(arguments[at + 1])
        arguments = arguments[:at] + arguments[at + 2 :]
    if len(arguments) != 2:
        raise TagmaError("tagma assign needs a run folder and a data file; see tagma assign --help")
    folder, path = map(Path, arguments)
    settings = _settings(folder)
    task, data = task_of(settings), _data(path)
    tensors = load_file(folder / MODELS)
    models = tensors["models"]
    if data.inputs.shape[1] != models.shape[1]:
        raise TagmaError(
            f"{path}: inputs have {data.inputs.shape[1]} columns, the models {models.shape[1]}"
        )
    local = solver_of(settings)(task, data).model
    clusters = read_metrics(folder)["clusters"]
    radii = np.array([np.inf if c["radius"] is None else c["radius"] for c in clusters])
    cluster, distance, inside = place(local, tensors["centres"], radii)
    measure = (
        f"{distance:.2f} times its ball's radius" if np.isfinite(distance) else "it has no ball"
    )
    if not inside:
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
        np.save(save, models[cluster])
        say(f"model: {save}")


def place(local: Array, centres: Array, radii: Array) -> tuple[int, float, bool]:
    """The nearest cluster, the distance in units of its ball (inf: it has none), and if it fits."""
    distances = np.linalg.norm(centres - local, axis=1)
    nearest = int(distances.argmin())
    if not np.isfinite(radii[nearest]):
        return nearest, float("inf"), True
    inside = bool(distances[nearest] <= radii[nearest])
    return nearest, float(distances[nearest] / max(radii[nearest], 1e-300)), inside


def _settings(folder: Path) -> Settings:
    overrides = folder / ".hydra" / "overrides.yaml"
    if not (folder / METRICS).is_file() or not overrides.is_file():
        raise TagmaError(f"{folder}: is not the folder of a finished tagma run")
    kept = [str(text) for text in OmegaConf.load(overrides)]
    return compose([text for text in kept if not text.lstrip("+~").startswith("hydra")])


def _data(path: Path) -> Data:
    try:
        with np.load(path, allow_pickle=False) as file:
            inputs = np.asarray(file["inputs"], dtype=np.float64)
            targets = file["targets"] if "targets" in file else np.zeros(len(inputs))
            data = Data(inputs, np.asarray(targets, dtype=np.float64))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise TagmaError(f"{path}: cannot be read as examples ({problem})") from None
    if data.inputs.ndim != 2 or data.targets.shape != data.inputs.shape[:1]:
        raise TagmaError(f"{path}: inputs must be n rows and targets n numbers")
    if not (np.isfinite(data.inputs).all() and np.isfinite(data.targets).all()):
        raise TagmaError(f"{path}: holds numbers that are not finite")
    return data
