"""`tracking=tensorboard`: event files in the run folder, for `tensorboard --logdir outputs`."""

from pathlib import Path
from typing import Any

from tagma.launch.tracking.tracker import (
    Tags,
    final_numbers,
    iteration_numbers,
    require,
    round_numbers,
    settings_by_key,
)
from tagma.server.results.events import RoundFinished
from tagma.settings import Settings

FOLDER = "tensorboard"


class TensorBoard:
    """Scalars per round and per iteration, the final ones, and the settings as text."""

    def __init__(self) -> None:
        require("tensorboard", "tensorboard")
        self._writer: Any = None

    def begin(self, settings: Settings, folder: Path, tags: Tags | None = None) -> None:
        """Open the event file and write the settings."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / FOLDER))
        lines = [f"    {key}: {value}" for key, value in settings_by_key(settings).items()]
        self._writer.add_text("settings", "\n".join(lines))
        if tags:
            self._writer.add_text("axes", "\n".join(f"    {k}: {v}" for k, v in tags.items()))

    def round(self, event: RoundFinished) -> None:
        """Write the numbers of a round."""
        self._write(round_numbers(event), event.round)

    def end(self, metrics: dict[str, Any] | None, folder: Path) -> None:
        """Write what sums up the run, and close the file."""
        if metrics is not None:
            for step, share in enumerate(iteration_numbers(metrics)):
                self._write({"iteration/misclustering": share}, step)
            self._write({f"final/{k}": v for k, v in final_numbers(metrics).items()}, 0)
        self._writer.close()

    def _write(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)
