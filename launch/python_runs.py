"""`tagma.run`, `tagma.resume` and `tagma.load`: runs from Python, as the command makes them.

One run at a time: threads that call take turns. The process is left as it was found.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from tagma.choices import SEARCHPATH
from tagma.errors import SettingError, TagmaError, TagmaWarning
from tagma.given_path import given_path
from tagma.kept import forget
from tagma.launch import run as command
from tagma.launch.finished_run import Run
from tagma.launch.left_as_found import left_as_found, logged_to
from tagma.launch.progress_line import ProgressLine
from tagma.launch.resume import settings_to_resume, to_be_resumed
from tagma.override import key_of
from tagma.override_hints import refuse_parts
from tagma.run_log import opened_log
from tagma.server.checkpoint import can_be_resumed
from tagma.server.folder_lock import claimed
from tagma.server.results.run_folder import LOG
from tagma.server.results.settings_files import write_settings
from tagma.settings import Settings, compose

_FOLDER = "hydra.run.dir"


def run(
    *settings: str,
    engine: str | None = None,
    folder: str | Path | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Run:
    """One federation, with settings as on the command line: `tagma.run("attack=alie", "seed=3")`.

    The results go to `folder`, or to outputs/DATE/TIME. One that holds a run already is an error,
    unless `overwrite`. What is allowed but unwise is a `TagmaWarning`; mistakes are a `TagmaError`
    before anything is written.
    """
    notify = warner(sys._getframe(1))
    with left_as_found(own_modules=True):
        forget()
        overrides, named = _overrides(settings, engine)
        if folder is not None and named is not None:
            raise TagmaError(f"{_FOLDER}={named}: folder is given, too; say it once")
        chosen = compose(overrides)
        if chosen.resume:
            raise TagmaError("resume=true: use tagma.resume(folder)")
        command.check(chosen)
        place = _place(folder if folder is not None else chosen.output or named)
        with claimed(place):
            if not overwrite and command.holds_a_run(place):
                raise TagmaError(
                    f"{place}: holds a run already; name another folder or overwrite=True"
                )
            opened_log(place / LOG).close()
            write_settings(place, chosen)
            return _played(chosen, place, notify, progress=progress, trust=True)


def resume(
    folder: str | Path,
    *settings: str,
    engine: str | None = None,
    trust: bool = False,
    progress: bool = True,
) -> Run:
    """Go on with a run that broke off, as `tagma resume` does."""
    notify = warner(sys._getframe(1))
    with left_as_found(own_modules=trust):
        forget()
        overrides, named = _overrides(settings, engine)
        if named is not None:
            raise TagmaError(f"{_FOLDER}={named}: the run goes on in its own folder")
        place = given_path("folder", folder)
        with to_be_resumed(place):
            chosen = settings_to_resume(place, overrides, trust=trust, notify=notify)
            return _played(chosen, place, notify, progress=progress, trust=trust)


def load(folder: str | Path, *, trust: bool = False) -> Run:
    """A finished run, of this process or of anybody.

    What its settings name outside of Tagma is imported only with `trust`, and only when `predict`,
    `assign` or `export` need it.
    """
    with left_as_found(own_modules=False):
        return Run(folder, trust=trust)


def _played(
    settings: Settings,
    folder: Path,
    notify: Callable[[str], None],
    *,
    progress: bool,
    trust: bool,
) -> Run:
    with _how_to_go_on(folder), logged_to(folder / LOG):
        line = ProgressLine("rounds", wanted=progress)
        command.run(settings, folder, notify=notify, progress=line)
    return Run(folder, trust=trust)


@contextmanager
def _how_to_go_on(folder: Path) -> Iterator[None]:
    """Whatever ends a run early, Ctrl-C as well, is told how to go on."""
    try:
        yield
    except BaseException as end:
        if can_be_resumed(folder) or command.lacks_report(folder):
            end.add_note(f"go on from the last round with: tagma.resume({str(folder)!r})")
        raise


def warner(frame: Any) -> Callable[[str], None]:
    """Warnings about the line of a frame: that which called Tagma."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    registry = frame.f_globals.setdefault("__warningregistry__", {})

    def warn(message: str) -> None:
        warnings.warn_explicit(message, TagmaWarning, file, line, registry=registry)

    return warn


def checked_texts(settings: Sequence[str]) -> list[str]:
    """Settings as texts, and nothing else."""
    for text in settings:
        if not isinstance(text, str):
            raise TagmaError(f'{text!r}: settings are texts, such as "attack=alie"')
        if text.startswith("-"):
            raise TagmaError(f"{text}: options of the command have no place here")
    return list(settings)


def _overrides(settings: Sequence[str], engine: str | None) -> tuple[list[str], str | None]:
    """The settings of a run, and the folder if one of them names it."""
    texts = checked_texts(settings)
    refuse_parts(texts)
    folder = None
    found = []
    for text in texts:
        key = key_of(text)
        if key == _FOLDER:
            folder = _unquoted(text)
        elif key.startswith("hydra.") and key != SEARCHPATH:
            raise TagmaError(f"{text}: is for the command only")
        else:
            found.append(text)
    if engine is not None:
        if not isinstance(engine, str):
            raise SettingError("engine", engine, "must be a name; `tagma list engine` has them")
        if any(key_of(text) == "engine" for text in found):
            raise TagmaError(f"engine={engine}: is among the settings, too; say it once")
        found.append(f"engine={engine}")
    return found, folder


def _unquoted(text: str) -> str:
    """The value of an override as Hydra reads it."""
    try:
        value = OverridesParser.create().parse_override(text).value()
    except HydraException:
        value = None
    if value in (None, "") or "${" in str(value):
        raise TagmaError(f"{text}: must be a path as it is; or give folder=...")
    return str(value)


def _place(folder: str | Path | None) -> Path:
    """The folder for the results, which is there afterwards."""
    if folder is not None:
        return _made(given_path("folder", folder), exist_ok=True)
    day = Path("outputs") / f"{datetime.now():%Y-%m-%d}"
    number, time = 1, f"{datetime.now():%H-%M-%S}"
    while (place := day / (time if number == 1 else f"{time}-{number}")).exists():
        number += 1
    return _made(place, exist_ok=False)


def _made(place: Path, *, exist_ok: bool) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as problem:
        raise TagmaError(f"{place}: cannot be made ({problem.strerror})") from None
    return place
