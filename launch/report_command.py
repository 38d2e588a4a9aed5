"""`tagma report`: the page of a finished run or of a bench, made again from its files."""

from pathlib import Path

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import say
from tagma.report import write_bench_report, write_run_report
from tagma.report.bench_reading import INDEX
from tagma.server.results.run_folder import METRICS

_HELP = f"""Make report.html and figures/ again, from the data beside them.

FOLDER is that of a finished run (it has {METRICS}) or of a bench (it has {INDEX}).
  tagma report outputs/2026-11-16/12-00-00
  tagma report outputs/bench/quick
The page needs no network. Its figures are also figures/NAME.svg, their data figures/NAME.csv."""


def main(arguments: list[str]) -> None:
    """Write the report of every folder that is named."""
    parser = CommandLine("report", _HELP)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="one or several")
    for folder in parser.read(arguments).folders:
        say(f"report: {write_report(folder)}")


def write_report(folder: Path) -> Path:
    """The report of a run or a bench, by what is in the folder."""
    try:
        if (folder / INDEX).is_file():
            return write_bench_report(folder)
        if (folder / METRICS).is_file():
            return write_run_report(folder)
    except OSError as error:
        raise TagmaError(f"{folder}: the report cannot be made ({error})") from None
    missing = "is not there" if not folder.exists() else f"has neither {METRICS} nor {INDEX}"
    raise TagmaError(f"{folder}: {missing}; name the folder of a finished run or of a bench")
