"""`tracking=wandb`: a run in a project of Weights & Biases, there at once or in files for later."""

from pathlib import Path
from typing import Any, Literal

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

_LONGEST = 64
"""Letters that a tag may have."""


class WandB:
    """Settings as the run's config, numbers as its history and summary, its files as an artifact.

    What is tracked offline is in `wandb/` of the run folder.
    """

    def __init__(
        self, *, project: str, entity: str | None, mode: Literal["online", "offline"] | None
    ) -> None:
        require("wandb", "wandb")
        self._project, self._entity, self._mode = project, entity, mode
        self._run: Any = None

    def begin(self, settings: Settings, folder: Path, tags: Tags | None = None) -> None:
        """Start a run in the project."""
        import wandb

        tags = tags or {}
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=self._project,
            entity=self._entity,
            mode=self._mode,
            dir=str(folder),
            name=folder.resolve().name,
            group=tags.get("grid"),
            config={**settings_by_key(settings), **({"axes": dict(tags)} if tags else {})},
            tags=[f"{key}={value}"[:_LONGEST] for key, value in tags.items()],
            settings=wandb.Settings(silent=True, console="off", save_code=False, disable_git=True),
            reinit="create_new",  # several runs may follow each other in a process
        )
        self._run.define_metric("round")
        self._run.define_metric("round/*", step_metric="round")
        self._run.define_metric("iteration/*", step_metric="iteration")

    def round(self, event: RoundFinished) -> None:
        """Log the numbers of a round."""
        self._run.log({"round": event.round, **round_numbers(event)})

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        """Log what sums up the run, keep its files, and say how it ended."""
        import wandb

        if metrics is None:
            self._run.finish(exit_code=1)
            return
        for step, share in enumerate(iteration_numbers(metrics)):
            self._run.log({"iteration": step, "iteration/misclustering": share})
        self._run.summary.update(final_numbers(metrics))
        files = wandb.Artifact(f"run-{self._run.id}", type="results")
        for file in kept_files(folder):
            files.add_file(str(file))
        self._run.log_artifact(files)
        self._run.finish()
