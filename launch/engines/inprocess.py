"""The engine `inprocess`: server and clients in this process."""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge
from threadpoolctl import threadpool_limits

from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.server.results.events import Observer
from tagma.settings import Settings, join_overrides
from tagma.tasks.task_choice import task_of


def run(
    settings: Settings, folder: Path, observer: Observer, *, threads: Annotated[int, Ge(1)] = 1
) -> None:
    """Run the federation and leave its results in the folder.

    Clients' matrices are small: more BLAS threads than one cost more than they bring, above all
    where there is other work to do.
    """
    overrides = join_overrides(settings.overrides)
    grid = InProcessGrid(client_app, task_of(settings).clients, overrides)
    with threadpool_limits(threads, user_api="blas"):
        run_federation(grid, settings, folder, [observer])
