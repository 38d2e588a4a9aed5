"""`tagma assign`: the cluster and model of a client that was not there."""

from pathlib import Path

import numpy as np

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import say
from tagma.launch.finished_run import Run

_HELP = """Which cluster a client belongs to that was not there when a run was made.

FOLDER is that of a finished `tagma run`. DATA is a file of the client's examples with their
targets, as the run's task reads them: a table (csv, parquet, npz, svmlight) with the columns of the
training data, or images. For other tasks it is an .npz file of `inputs`, n rows, and `targets`,
n numbers (not for tasks without targets).

The client's local model is found as the run's clients found theirs, and compared with the clusters:
the nearest one whose ball holds it is its own. A client that no ball holds fits none. Where a run
did not cluster local models, the client belongs where the model has the lowest loss.

  tagma assign outputs/2026-11-16/12-00-00 mine.npz
  tagma assign outputs/2026-11-16/12-00-00 mine.npz --model mine.npy"""


def main(arguments: list[str]) -> None:
    """Place one client."""
    parser = CommandLine("assign", _HELP)
    parser.add_run_folder("of the finished run")
    parser.add_argument("data", type=Path, metavar="DATA", help="the client's examples")
    parser.add_argument("--model", type=Path, metavar="FILE", help="save its cluster's model here")
    given = parser.read(arguments)
    run = Run(given.folder, trust=given.trust)
    found = run.assign(given.data)
    if found.cluster is None:
        away = f"{found.distance:.2f} of its ball"
        say(f"cluster: none; the nearest is {found.nearest}, but the distance is {away}")
        if given.model is not None:
            raise TagmaError(
                f"--model {given.model}: there is no model for a client that fits no cluster"
            )
        return
    ball = "it has no ball" if found.distance is None else f"{found.distance:.2f} of its ball"
    say(f"cluster: {found.cluster} (distance: {ball})")
    if found.suspect:
        say(f"suspect: {found.suspect}")
    own = "" if found.own_loss is None else f" (with its own local model: {found.own_loss:.4g})"
    say(f"loss: {found.loss:.4g}{own}")
    if given.model is not None:
        _save(given.model, run.vector(found.cluster))
        say(f"model: {given.model}")


def _save(path: Path, model: np.ndarray) -> None:
    try:
        with path.open("wb") as file:  # np.save itself would add an ending to the name
            np.save(file, model)
    except OSError as problem:
        raise TagmaError(f"--model {path}: cannot be written ({problem.strerror})") from None
