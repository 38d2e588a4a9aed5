"""The engine `inprocess`: server and clients in this process."""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.launch.engines.small_arrays import quick_at_small_arrays
from tagma.message_limits import Limits
from tagma.server.federation import run_federation
from tagma.server.results.events import Observer
from tagma.settings import Settings, join_overrides
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of


def run(
    settings: Settings, folder: Path, observer: Observer, *, threads: Annotated[int, Ge(1)] = 1
) -> None:
    """Run the federation and leave its results in the folder."""
    overrides = join_overrides(settings.overrides)
    task = task_of(settings)
    limits = Limits.of(layout_of(task))
    grid = InProcessGrid(client_app, task.clients, overrides, limits=limits)
    with quick_at_small_arrays(threads):
        run_federation(grid, settings, folder, [observer])
