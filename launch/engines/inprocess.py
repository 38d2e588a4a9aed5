"""The engine `inprocess`: server and clients in this process."""

from pathlib import Path

from client.app import app as client_app
from launch.engines.inprocess_grid import InProcessGrid
from server.events import Observer
from server.federation import run_federation
from tagma.settings import Settings, join_overrides
from tasks.chosen import task_of


def run(settings: Settings, folder: Path, observer: Observer) -> None:
    """Run the federation and leave its results in the folder."""
    overrides = join_overrides(settings.overrides)
    grid = InProcessGrid(client_app, task_of(settings).machines, overrides)
    run_federation(grid, settings, folder, [observer])
