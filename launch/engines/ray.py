"""The `ray` engine: the Flower app as a simulation of many processes on one or more machines.

Ray runs the clients in parallel actors, on this machine or on the cluster that RAY_ADDRESS
names. Flower reaches Ray only through a SuperLink, so the engine starts one, hands it a Flower
app that is nothing but a `pyproject.toml` (the code is imported, not shipped), passes the run's
log on line by line, and asks for the outcome: `flwr run --stream` exits 0 even if the run failed.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Annotated

import tomli_w
from annotated_types import Gt

from launch.engines.guard import guarded
from launch.engines.superlink import CONNECTION, SuperLink, start_superlink
from server.events import Observer, parse_event
from tagma import __version__
from tagma.errors import EngineError
from tagma.settings import Settings, join_overrides
from tasks.chosen import task_of

COMPLETED = "finished:completed"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
BOX = " │╭╮╰╯─"  # what the command line draws around its errors
DETAILS = "Simulation failed with exception: "
NO_DETAILS = ("N/A", "An error was encountered. Ending simulation.")
CAUSE = re.compile(r"An exception occur+ed ?!! (.+)")  # both spellings are Flower's


def run(
    settings: Settings,
    folder: Path,
    observer: Observer,
    *,
    cpus_per_client: Annotated[float, Gt(0)],
) -> None:
    """Run the federation and leave its results in the folder."""

    def pass_on(line: str) -> None:
        event = parse_event(line)
        if event is not None:
            observer(event)

    folder.mkdir(parents=True, exist_ok=True)
    run_on_ray(
        [*settings.overrides, f"output={_quoted(str(folder.resolve()))}"],
        task_of(settings).machines,
        pass_on,
        cpus_per_client=cpus_per_client,
        log=folder / "run.log",
    )


def _quoted(text: str) -> str:
    """A string that Hydra's grammar takes as it is."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def run_on_ray(
    overrides: Sequence[str],
    machines: int,
    on_line: Callable[[str], None],
    *,
    cpus_per_client: float,
    log: Path | None,
) -> None:
    """Run the app with these Hydra overrides on `machines` virtual SuperNodes, until it is done.

    `on_line` gets each line of the run's log as it arrives; `log` is a file to which these lines
    and the SuperLink's own are appended. Raises `EngineError` unless the run completed.
    """
    resources = f"num-supernodes={machines} {_resources(cpus_per_client)}"
    with guarded() as shelter:
        app = write_app(shelter.folder / "app", overrides)
        with (log or shelter.folder / "log").open("a", encoding="utf-8", buffering=1) as output:
            try:
                superlink = start_superlink(shelter, max(1, int(cpus_per_client)), output)
                cause = _stream(superlink, app, resources, on_line, output)
                _check_completed(superlink, cause)
            except EngineError as error:
                raise EngineError(f"{error} (log: {log})" if log else str(error)) from None


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
        "components": {"serverapp": "server.app:app", "clientapp": "client.app:app"},
        "config": {"overrides": join_overrides(overrides)},
    }
    folder.mkdir()
    text = tomli_w.dumps({"project": project, "tool": {"flwr": {"app": app}}})
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def _resources(cpus_per_client: float) -> str:
    """Flower's settings for this many CPUs per client.

    Flower knows whole CPUs only. For a fraction, Ray is told of as many CPUs as clients fit.
    """
    if cpus_per_client >= 1 and cpus_per_client == int(cpus_per_client):
        return f"client-resources-num-cpus={int(cpus_per_client)}"
    if os.environ.get("RAY_ADDRESS"):
        raise EngineError(f"{cpus_per_client} CPUs per client: must be whole with RAY_ADDRESS")
    clients = int((os.cpu_count() or 1) / cpus_per_client)
    return f"client-resources-num-cpus=1 init-args-num-cpus={clients}"


def _stream(
    superlink: SuperLink,
    app: Path,
    resources: str,
    on_line: Callable[[str], None],
    output: IO[str],
) -> str | None:
    """Run the app and pass its lines on; return the first cause of a crash that they name."""
    run = superlink.flwr("run", str(app), CONNECTION, "--stream", "--federation-config", resources)
    assert run.stdout is not None
    cause, last = None, ""
    for raw in run.stdout:
        line = ANSI.sub("", raw.rstrip("\n"))
        output.write(line + "\n")
        on_line(line)
        last = line.strip(BOX) or last
        if cause is None and (found := CAUSE.search(line)):
            cause = found[1]
    if run.wait() != 0:
        raise EngineError(f"the run broke off: {last}")
    return cause


def _check_completed(superlink: SuperLink, cause: str | None) -> None:
    """Raise an error with the reason, as far as Flower tells, unless the run is completed."""
    listing, _ = superlink.flwr("ls", CONNECTION, "--format", "json").communicate()
    try:
        (run,) = json.loads(listing)["runs"]
    except (ValueError, KeyError):
        raise EngineError("the SuperLink does not say how the run ended") from None
    if run["status"] == COMPLETED:
        return
    details = run["status-details"].removeprefix(DETAILS)
    reason = cause if cause and details in NO_DETAILS else details
    raise EngineError(f"the run did not complete: {reason.splitlines()[0]}")
