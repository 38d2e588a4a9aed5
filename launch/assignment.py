"""Which cluster a client belongs to that was not there when a run was made.

Where the run clustered local models, the client's own is found as the run's clients found theirs,
and belongs to the nearest cluster if that one's ball holds it. Elsewhere the client belongs where
the model has the lowest loss on its examples.
"""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tagma.client.solvers.solution import Solver
from tagma.errors import TagmaError
from tagma.launch.run_models import RunModels
from tagma.launch.run_task import RunTask, of_the_task
from tagma.plugins import build
from tagma.server.results.run_folder import METRICS, read_metrics
from tagma.strategies.clustering import OwnNoise
from tagma.strategies.screening.placement import place
from tagma.tasks.task import Data, SquaredDistance


@dataclass(frozen=True)
class Assignment:
    """The place of a client."""

    cluster: int | None
    """None: it fits none."""
    nearest: int
    distance: float | None
    """From the nearest cluster's centre, in units of what its ball allows; None without a ball."""
    loss: float
    """Of the nearest cluster's model on the client's examples."""
    own_loss: float | None
    """Of its own local model, where one was made."""
    suspect: str | None
    """Why the nearest cluster is not to be trusted, if there is a reason."""


def assign(folder: Path, run: RunTask, models: RunModels, inputs: Any, targets: Any) -> Assignment:
    """The place of a client with these examples, as `RunTask.examples` gives them."""
    task, layout = run.task, run.layout
    models.fitting(layout)
    if targets is None:
        if not isinstance(task, SquaredDistance):
            raise TagmaError("data: has no targets, which this task's loss needs")
        targets = np.zeros(len(inputs))
    data = Data(inputs, targets)
    clusters = _clusters(folder, len(models))
    if models.centres is None:
        losses = [run.loss(*models.model(k, layout), data) for k in range(len(models))]
        best = int(np.argmin(np.nan_to_num(losses, nan=np.inf, posinf=np.inf)))
        return Assignment(best, best, None, losses[best], None, clusters[best]["suspect"])
    chosen, settings = run.settings.choice("solver"), run.settings
    solve: Solver = build("solver", chosen, seed=settings.seed, device=settings.device)
    with of_the_task("the solver"):
        own = solve(task, data)
    radii = np.array([np.inf if c["radius"] is None else c["radius"] for c in clusters])
    members = np.array([c["size"] - c["trimmed"] for c in clusters])
    noise = _noise(folder, models.centres.shape[1])
    found = place(own.model, models.centres, radii, members, noise)
    return Assignment(
        found.cluster if found.inside else None,
        found.cluster,
        found.distance if isfinite(found.distance) else None,
        run.loss(*models.model(found.cluster, layout), data),
        run.loss(own.model, own.buffers or {}, data),
        clusters[found.cluster]["suspect"],
    )


def _noise(folder: Path, dimension: int) -> OwnNoise | None:
    """By what local models were judged, where it was by their own noise."""
    try:
        known = (read_metrics(folder)["clustering"] or {}).get("noise")
        return None if known is None else OwnNoise.of_allowed(known, dimension)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        raise TagmaError(f"{folder / METRICS}: cannot be read ({problem})") from None


def _clusters(folder: Path, count: int) -> list[dict[str, Any]]:
    try:
        clusters = [
            {
                "radius": None if each["radius"] is None else float(each["radius"]),
                "size": int(each["size"]), "trimmed": int(each["trimmed"] or 0),
                "suspect": None if each["suspect"] is None else str(each["suspect"]),
            }
            for each in read_metrics(folder)["clusters"]
        ]  # fmt: skip
        if len(clusters) != count:
            raise ValueError(f"it has {len(clusters)} clusters, and there are {count} models")
        return clusters
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as problem:
        raise TagmaError(f"{folder / METRICS}: cannot be read ({problem})") from None
