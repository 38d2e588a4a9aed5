"""A run that was recorded, played again into another folder as slowly as a test wants it."""

import shutil
from pathlib import Path

from tagma.launch.engines import inprocess
from tagma.launch.run import conclude
from tagma.server.results import run_events
from tagma.settings import compose

GROWING = ("events.jsonl", "history.csv")
SETTINGS = [
    "preset=tagma", "attack=sign_flip", "attack.clients=[1]", "task.clients=12", "task.clusters=2",
    "task.dim=10", "task.samples=100", "absence.clients=[4]", "absence.rounds=[5,7]",
    "oracle=false",
]  # fmt: skip


def recorded(folder: Path, *overrides: str, rounds: int = 30) -> Path:
    """A finished run in which every round has a line of its own."""
    settings = compose([*SETTINGS, f"rounds={rounds}", *overrides])
    least, share = run_events._LEAST, run_events._SHARE
    run_events._LEAST, run_events._SHARE = 0.0, 0
    try:
        inprocess.run(settings, folder, lambda event: None)
    finally:
        run_events._LEAST, run_events._SHARE = least, share
    conclude(settings, folder)
    return folder


class Replay:
    """Plays a recorded run into a folder."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._source, self._folder = source, folder
        folder.mkdir()
        texts = [(source / name).read_bytes().splitlines(keepends=True) for name in GROWING]
        self._lines = dict(zip(GROWING, texts, strict=True))

    def until(self, number: int) -> None:
        """The files as they were after that round; 0: it has begun."""
        for name, lines in self._lines.items():
            with (self._folder / name).open("ab") as file:
                have = len((self._folder / name).read_bytes().splitlines())
                file.writelines(lines[have : 1 + number])

    def end(self) -> None:
        """All of it."""
        shutil.copytree(self._source, self._folder, dirs_exist_ok=True)
