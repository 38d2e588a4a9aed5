"""A run of the Flower app on any SuperLink: hand it over, follow its log, ask how it ended.

The app is nothing but a `pyproject.toml`: the code is imported where it runs, not shipped.
`flwr run --stream` passes the run's log on line by line, and exits 0 even if the run failed, so the
outcome is asked for.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import tomli_w

from tagma import __version__
from tagma.errors import EngineError
from tagma.escaping import visible
from tagma.launch.engines.superlink import CONNECTION, SuperLink
from tagma.override import key_of
from tagma.server.results.events import Observer, parse_event
from tagma.settings import Settings, join_overrides

COMPLETED = "finished:completed"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
BOX = " │╭╮╰╯─"  # what the command line draws around its errors
DETAILS = r"^(Simulation|ServerApp) failed with exception: "
NO_DETAILS = ("N/A", "An error was encountered. Ending simulation.")
CAUSE = re.compile(r"An exception occur+ed ?!! (.+)")  # both spellings are Flower's
STARTED = re.compile(r"Successfully started run (\d+)")
FINISHED = "finished:"
PAUSE_SECONDS = 1.0
_PATHS = ("task.data", "task.dataset.data_files", "task.dataset.data_dir")
"""Settings that name files."""
PATIENCE_SECONDS = 180.0
"""How long a SuperLink that does not answer is waited for, for example while it restarts."""


def run_app(
    superlink: SuperLink,
    overrides: Sequence[str],
    on_line: Callable[[str], None],
    output: IO[str],
    options: Sequence[str] = (),
    *,
    shared: bool = False,
) -> None:
    """Run the app with these Hydra overrides; raises `EngineError` unless it completed.

    A `shared` SuperLink outlives this process, so it is asked to stop a run that nobody follows.
    """
    app = write_app(superlink.shelter.folder / "app", overrides)
    lines = _Lines(on_line, output)
    run = superlink.flwr("run", str(app), CONNECTION, "--stream", *options)
    try:
        ended = lines.follow(run)
        if lines.number is None:
            raise EngineError(
                f"the run was not accepted: {lines.last}" if ended else "no run began"
            )
        outcome = _outcome(superlink, lines)
    except BaseException:
        if shared and lines.number is not None:
            superlink.flwr("stop", lines.number, CONNECTION).communicate()
        raise
    _check_completed(outcome, lines.cause)


def placed(settings: Settings, folder: Path | str) -> list[str]:
    """The overrides for a server in another process, which must know where results go.

    It has another working folder: a path of this computer is made whole. A text is a folder there.
    """
    place = folder if isinstance(folder, str) else str(folder.resolve())
    resume = ["resume=true"] if settings.resume else []
    kept = [text for text in settings.overrides if not text.startswith(("output=", "resume="))]
    if not isinstance(folder, str):
        kept = [_with_whole_path(text) for text in kept]
    return [*kept, *resume, f"output={_quoted(place)}"]


def _with_whole_path(override: str) -> str:
    """Data of this computer, whose clients run in another working folder."""
    key, _, value = override.partition("=")
    path = Path(value.strip("'\""))
    there = path.exists() or ("{" in path.name and path.parent.is_dir())
    if key_of(override) not in _PATHS or not value or not there:
        return override
    return f"{key}={_quoted(str(path.resolve()))}"


def on_events(observer: Observer) -> Callable[[str], None]:
    """Pass on the events among the lines of a log, each once: after an outage they come again."""
    last = 0

    def pass_on(line: str) -> None:
        nonlocal last
        event = parse_event(line)
        if event is not None and event.round > last:
            last = event.round
            observer(event)

    return pass_on


def _quoted(text: str) -> str:
    """A string that Hydra's grammar takes as it is."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def write_app(folder: Path, overrides: Sequence[str]) -> Path:
    """Write a Flower app that runs the importable `server` and `client` with the overrides."""
    project = {
        "name": "tagma",
        "version": __version__,
        "description": "Byzantine-robust clustered federated learning",
        "license": "Apache-2.0",
    }
    app = {
        "publisher": "tagma",
        "components": {"serverapp": "tagma.server.app:app", "clientapp": "tagma.client.app:app"},
        "config": {"overrides": join_overrides(overrides)},
    }
    folder.mkdir()
    text = tomli_w.dumps({"project": project, "tool": {"flwr": {"app": app}}})
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


class _Lines:
    """The lines of a run's log, passed on and searched for what they tell."""

    def __init__(self, on_line: Callable[[str], None], output: IO[str]) -> None:
        self._on_line = on_line
        self._output = output
        self.number: str | None = None
        self.cause: str | None = None
        self.last = ""

    def say(self, line: str) -> None:
        """Put a line of our own among them."""
        self._output.write(line + "\n")

    def follow(self, command: subprocess.Popen[str]) -> int:
        """Read a command's output to its end; return its exit code."""
        assert command.stdout is not None
        for raw in command.stdout:
            line = ANSI.sub("", raw.rstrip("\n"))
            self._output.write(visible(line) + "\n")
            self._on_line(line)
            self.last = line.strip(BOX) or self.last
            if self.number is None and (found := STARTED.search(line)):
                self.number = found[1]
            if self.cause is None and (found := CAUSE.search(line)):
                self.cause = found[1]
        return command.wait()


def _outcome(superlink: SuperLink, lines: _Lines) -> dict[str, str]:
    """How the run ended; if only the connection did, follow the log again until it has."""
    assert lines.number is not None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        listed = _listed(superlink, lines.number)
        if listed is not None:
            if listed["status"].startswith(FINISHED):
                return listed
            lines.say("the SuperLink was away; the log of the run again, from its beginning:")
            lines.follow(superlink.flwr("log", lines.number, CONNECTION, "--stream"))
            deadline = time.monotonic() + PATIENCE_SECONDS
        time.sleep(PAUSE_SECONDS)
    raise EngineError("the SuperLink does not say how the run ended")


def _listed(superlink: SuperLink, number: str) -> dict[str, str] | None:
    """What the SuperLink says of a run, if it answers."""
    command = superlink.flwr("ls", CONNECTION, "--run-id", number, "--format", "json")
    listing, _ = command.communicate()
    try:
        (run,) = json.loads(listing)["runs"]
    except (ValueError, KeyError):
        return None
    return {str(key): str(value) for key, value in run.items()}


def _check_completed(run: dict[str, str], cause: str | None) -> None:
    """Raise an error with the reason, as far as Flower tells, unless the run is completed."""
    if run["status"] == COMPLETED:
        return
    details = re.sub(DETAILS, "", run["status-details"])
    reason = cause if cause and details in NO_DETAILS else details
    raise EngineError(f"the run did not complete: {reason.partition(chr(10))[0]}")
