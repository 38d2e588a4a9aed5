"""The Flower ServerApp. Its run configuration has one key, `overrides`: Hydra overrides."""

from datetime import datetime
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.superlink.grid.inmemory_grid import InMemoryGrid

from server.events import print_event
from server.federation import run_federation
from server.patient_grid import PatientGrid
from tagma.settings import settings_from

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the overrides describe."""
    settings = settings_from(str(context.run_config["overrides"]))
    folder = Path(settings.output or datetime.now().strftime("outputs/%Y-%m-%d/%H-%M-%S"))
    engine = "ray" if isinstance(grid, InMemoryGrid) else "deployment"
    patient = PatientGrid(grid, lossy=engine == "deployment")
    run_federation(patient, settings, folder, [print_event], engine)
    print(f"results: {folder.resolve()}", flush=True)
