"""The ServerApp of `flwr run .`: a run as everywhere, and its report, which no launcher makes."""

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from tagma.report import write_run_report
from tagma.server.app import serve

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the overrides describe, and draw its page."""
    print(f"report: {write_run_report(serve(grid, context))}", flush=True)
