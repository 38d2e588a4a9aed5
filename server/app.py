"""The Flower ServerApp. Its run configuration has one key, `overrides`: Hydra overrides."""

from datetime import datetime
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from server.events import print_event
from server.federation import run_federation
from tagma.settings import settings_from

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the overrides describe."""
    settings = settings_from(str(context.run_config["overrides"]))
    folder = Path(settings.output or datetime.now().strftime("outputs/%Y-%m-%d/%H-%M-%S"))
    run_federation(grid, settings, folder, [print_event])
    print(f"results: {folder.resolve()}", flush=True)
