"""The Flower ServerApp. Its run configuration has one key, `overrides`: Hydra overrides."""

from datetime import datetime
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from tagma.message_limits import Limits
from tagma.server.federation import run_federation
from tagma.server.results.events import print_event
from tagma.server.results.settings_files import keep_settings
from tagma.server.transport.flower_superlink import InMemoryGrid
from tagma.server.transport.patient_grid import PatientGrid
from tagma.settings import settings_from
from tagma.tasks.task import layout_of
from tagma.tasks.task_choice import task_of

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the overrides describe."""
    serve(grid, context)


def serve(grid: Grid, context: Context) -> Path:
    """The same; where its results are."""
    settings = settings_from(str(context.run_config["overrides"]))
    folder = Path(settings.output or datetime.now().strftime("outputs/%Y-%m-%d/%H-%M-%S"))
    engine = "ray" if isinstance(grid, InMemoryGrid) else "deployment"
    limits = Limits.of(layout_of(task_of(settings)))
    patient = PatientGrid(grid, lossy=engine == "deployment", limits=limits)
    run_federation(patient, settings, folder, [print_event], engine)
    keep_settings(folder, settings)
    print(f"results: {folder.resolve()}", flush=True)
    return folder.resolve()
