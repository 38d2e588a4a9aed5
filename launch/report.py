"""`tagma report`: the page of a finished run, made again from its files."""

from pathlib import Path

from bench.report import write_run_report
from launch.console import say
from server.folder import METRICS
from tagma.errors import TagmaError

_HELP = """tagma report FOLDER: make report.html of a finished run again, from its files."""


def main(arguments: list[str]) -> None:
    """Write the report of every folder that is named."""
    if not arguments or "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    for name in arguments:
        if not (Path(name) / METRICS).is_file():
            raise TagmaError(f"{name}: is not the folder of a finished run (no {METRICS} in it)")
        say(f"report: {write_run_report(Path(name))}")
