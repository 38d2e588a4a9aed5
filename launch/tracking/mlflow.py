"""`tracking=mlflow`: a run in an MLflow experiment, on a server or in a file."""

import time
from pathlib import Path
from typing import Any

from tagma.launch.tracking.tracker import (
    Tags,
    final_numbers,
    iteration_numbers,
    kept_files,
    require,
    round_numbers,
    settings_by_key,
)
from tagma.server.results.events import RoundFinished
from tagma.settings import Settings

_LONGEST = 6000
_AT_ONCE = 100
"""How long a value and how large a batch MLflow allows."""


class Mlflow:
    """Settings as parameters, numbers as metrics, the report and the tables as artifacts."""

    def __init__(self, *, experiment: str, uri: str | None) -> None:
        require("mlflow", "mlflow")
        self._experiment, self._uri = experiment, uri
        self._client: Any = None
        self._run = ""

    def prepare(self) -> str:
        """The id of the experiment, which is made if need be, and the database with it."""
        from mlflow import MlflowClient

        self._client = MlflowClient(self._uri)
        found = self._client.get_experiment_by_name(self._experiment)
        made: str = (
            found.experiment_id if found else self._client.create_experiment(self._experiment)
        )
        return made

    def begin(self, settings: Settings, folder: Path, tags: Tags | None = None) -> None:
        """Start a run in the experiment."""
        from mlflow.entities import Param

        home, name = self.prepare(), folder.resolve().name
        axes = {f"axis.{key}": value for key, value in (tags or {}).items()}
        self._run = self._client.create_run(home, run_name=name, tags=axes).info.run_id
        values = settings_by_key(settings).items()
        parameters = [Param(key, value[:_LONGEST]) for key, value in values]
        for start in range(0, len(parameters), _AT_ONCE):
            self._client.log_batch(self._run, params=parameters[start : start + _AT_ONCE])

    def round(self, event: RoundFinished) -> None:
        """Log the numbers of a round."""
        self._log(round_numbers(event), event.round)

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        """Log what sums up the run, keep its files, and say how it ended."""
        if metrics is None:
            self._client.set_terminated(self._run, "FAILED")
            return
        for step, share in enumerate(iteration_numbers(metrics)):
            self._log({"iteration/misclustering": share}, step)
        self._log(final_numbers(metrics), 0)
        for file in kept_files(folder):
            self._client.log_artifact(self._run, str(file))
        self._client.set_terminated(self._run)

    def _log(self, numbers: dict[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, step) for name, value in numbers.items()]
        self._client.log_batch(self._run, metrics=metrics)
