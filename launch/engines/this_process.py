"""The engine for a run in this process that nobody watches: on arrays.

A cell of a grid, a row of `tagma compare` and the oracle need numbers, not messages. A user who
names an engine gets that one.
"""

from pathlib import Path

from tagma.launch.engines import inprocess, vectorised
from tagma.override import key_of
from tagma.server.results.events import Observer
from tagma.settings import Settings

_ENGINES = {"vectorised": vectorised.run, "inprocess": inprocess.run}


def engine_here(settings: Settings) -> str:
    """The engine's name: as the user says, else vectorised."""
    if any(key_of(text) == "engine" for text in settings.overrides):
        module = str(settings.choice("engine")["_target_"]).split(".")[-2]
        return module if module in _ENGINES else "inprocess"
    return "vectorised"


def run_here(settings: Settings, folder: Path, observer: Observer = lambda event: None) -> None:
    """Run the federation in this process and leave its results in the folder."""
    _ENGINES[engine_here(settings)](settings, folder, observer)
