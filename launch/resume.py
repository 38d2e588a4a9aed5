"""`tagma resume`: go on with a run that broke off, from its last checkpoint, on any engine."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import warn
from tagma.launch.run import check, lacks_report, run_and_show
from tagma.override import key_of
from tagma.run_log import RunLog, check_log
from tagma.run_settings import check_trust, settings_of_run
from tagma.server.checkpoint import can_be_resumed, load_checkpoint
from tagma.server.folder_lock import claimed
from tagma.server.results.run_folder import LOG
from tagma.server.run_identity import MAY_CHANGE, identity_of
from tagma.settings import Settings, compose

_HELP = """Go on with a run that broke off.

FOLDER is the run's output folder; the checkpoint in it is the state after the last whole round.
The result is that of a run that was never interrupted. What does not change the numbers may be set
anew, for example where the rest runs or how long to wait:

  tagma resume outputs/2026-11-16/12-00-00
  tagma resume my_results --trust            a run with plugins of yours
  tagma resume my_results engine=inprocess
  tagma resume my_results round_timeout=60"""

_OURS = ("resume", "output")
_RECEIVERS = ("tracking.uri", "tracking.entity")


def main(arguments: list[str]) -> None:
    """Compose the run's own settings with the new ones and run the rest."""
    parser = CommandLine("resume", _HELP, overrides=True)
    parser.add_run_folder("of the run")
    read = parser.read(arguments)
    with to_be_resumed(read.folder):
        settings = settings_to_resume(read.folder, read.overrides, trust=read.trust, notify=warn)
        logging.getLogger().addHandler(RunLog(read.folder / LOG))
        logging.getLogger().setLevel(logging.INFO)
        run_and_show(settings, read.folder)


@contextmanager
def to_be_resumed(folder: Path) -> Iterator[None]:
    """Hold the folder of a run that broke off; an error, and nothing touched, if it is none."""
    if not can_be_resumed(folder) and not lacks_report(folder):
        load_checkpoint(folder)
    with claimed(folder):
        check_log(folder / LOG)
        yield


def settings_to_resume(
    folder: Path, given: Sequence[str], *, trust: bool, notify: Callable[[str], None]
) -> Settings:
    """The settings of a run that broke off, with those that are given in their places; checked."""
    for text in given:
        key = key_of(text)
        if key.partition(".")[0] not in MAY_CHANGE:
            raise TagmaError(f"{text}: cannot be changed in mid-run, only {', '.join(MAY_CHANGE)}")
    if not can_be_resumed(folder):
        if given:
            raise TagmaError(f"{folder}: all rounds are over; resume it without new settings")
        return settings_of_run(folder, trust=trust, more=["resume=true"])
    run = None
    if (folder / ".hydra").exists():
        run = identity_of(settings_of_run(folder, trust=trust))
    checkpoint = load_checkpoint(folder, lambda found: found.is_of(run or found.run))
    if checkpoint.warning:
        notify(checkpoint.warning)
    stored = [text for text in checkpoint.overrides if key_of(text) not in _OURS]
    for group in {key_of(text) for text in given} & {"engine", "tracking"}:
        stored = [text for text in stored if key_of(text).partition(".")[0] != group]
    check_trust(folder, stored, trust=trust)
    _check_receivers(folder, stored, trust=trust)
    settings = compose([*stored, *given, "resume=true"])
    check(settings)
    checkpoint.check(rounds=settings.rounds)
    return settings


def _check_receivers(folder: Path, stored: Sequence[str], *, trust: bool) -> None:
    """Raise an error if a tracker that the folder names would report to an address of its own."""
    for text in stored:
        if not trust and key_of(text) in _RECEIVERS:
            raise TagmaError(
                f"{folder}: {text[:200]}: says whom results are reported to; if you trust whoever "
                "made it: --trust (trust=True in Python); or give tracking=..."
            )
