"""One folder of several runs, one multirun: Hydra calls this before it writes its first file."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from tagma.errors import TagmaError
from tagma.server.folder_lock import claimed

SWEEP = ExitStack()
"""Holds the folder until it is closed."""


class Refused(BaseException):
    """Hydra makes warnings of a callback's exceptions, but for those that are no `Exception`."""

    def __init__(self, why: TagmaError | OSError) -> None:
        self.why = why


class OneSweep(Callback):
    """Claims the folder of a multirun."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Before Hydra writes multirun.yaml."""
        folder = Path(config.hydra.sweep.dir)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            SWEEP.enter_context(claimed(folder))
        except (TagmaError, OSError) as problem:
            raise Refused(problem) from None
