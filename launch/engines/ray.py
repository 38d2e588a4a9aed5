"""The `ray` engine: the Flower app as a simulation of many processes on one or more computers.

Ray runs the clients in parallel actors, on this computer or on the cluster that RAY_ADDRESS
names. Flower reaches Ray only through a SuperLink, so the engine starts one and hands it the app.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from annotated_types import Gt

from tagma.errors import EngineError, SettingError
from tagma.launch.engines.flower_run import on_events, placed, run_app
from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import start_simulation
from tagma.run_log import opened_log
from tagma.server.results.events import Observer
from tagma.server.results.run_folder import LOG
from tagma.settings import Settings
from tagma.tasks.task_choice import task_of


class Ray:
    """Clients in several processes."""

    def __init__(self, *, cpus_per_client: Annotated[float, Gt(0)]) -> None:
        cores = os.cpu_count() or 1
        if cpus_per_client > cores and not os.environ.get("RAY_ADDRESS"):
            raise SettingError(
                "engine.cpus_per_client", cpus_per_client, f"this computer has {cores} cores"
            )
        self.cpus_per_client = cpus_per_client

    def __call__(self, settings: Settings, folder: Path, observer: Observer) -> None:
        """Run the federation and leave its results in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        run_on_ray(
            placed(settings, folder),
            task_of(settings).clients,
            on_events(observer),
            cpus_per_client=self.cpus_per_client,
            log=folder / LOG,
        )


def run_on_ray(
    overrides: Sequence[str],
    clients: int,
    on_line: Callable[[str], None],
    *,
    cpus_per_client: float,
    log: Path | None,
) -> None:
    """Run the app with these Hydra overrides on `clients` virtual SuperNodes, until it is done.

    `on_line` gets each line of the run's log as it arrives; `log` is a file to which these lines
    and the SuperLink's own are appended. Raises `EngineError` unless the run completed.
    """
    resources = f"num-supernodes={clients} {_resources(cpus_per_client)}"
    with (
        guarded() as shelter,
        opened_log(log or shelter.folder / "log") as output,
    ):
        try:
            superlink = start_simulation(shelter, max(1, int(cpus_per_client)), output)
            run_app(superlink, overrides, on_line, output, ["--federation-config", resources])
        except EngineError as error:
            raise EngineError(f"{error} (log: {log})" if log else str(error)) from None


def _resources(cpus_per_client: float) -> str:
    """Flower's settings for this many CPUs per client.

    Flower knows whole CPUs only. For a fraction, Ray is started with as many CPUs as clients fit.
    """
    if cpus_per_client >= 1 and cpus_per_client == int(cpus_per_client):
        return f"client-resources-num-cpus={int(cpus_per_client)}"
    if os.environ.get("RAY_ADDRESS"):
        raise EngineError(f"{cpus_per_client} CPUs per client: must be whole with RAY_ADDRESS")
    clients = int((os.cpu_count() or 1) / cpus_per_client)
    return f"client-resources-num-cpus=1 init-args-num-cpus={clients}"
