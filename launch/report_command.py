"""`tagma report`: the page of a finished run or a bench, made again; tables and PDFs for papers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import say
from tagma.report import write_bench_report, write_run_report
from tagma.report.bench_latex import write_bench_latex
from tagma.report.bench_reading import INDEX
from tagma.report.run_latex import write_run_latex
from tagma.server.checkpoint import can_be_resumed, remove_checkpoints
from tagma.server.folder_lock import claimed
from tagma.server.results.run_folder import METRICS

T = TypeVar("T")
_HELP = f"""Make report.html and figures/ again, from the data beside them.

FOLDER is that of a finished run (it has {METRICS}) or of a bench (it has {INDEX}).
  tagma report outputs/2026-11-16/12-00-00
  tagma report outputs/bench/quick
The page needs no network. Its figures are also figures/NAME.svg, their data figures/NAME.csv.
For a paper:
  tagma report outputs/bench/quick --latex --pdf
--latex writes tables/*.tex, which need \\usepackage{{booktabs}} only: of a bench the leaderboard
and every attack against every defence, of a run its scores, all with what made them. --pdf writes
figures/NAME.pdf: lines and letters, not pixels, on white, with their fonts."""


def main(arguments: list[str]) -> None:
    """Write the report of every folder that is named, and what else is asked for."""
    parser = CommandLine("report", _HELP)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="one or several")
    parser.add_argument("--latex", action="store_true", help="its tables, too, as tables/*.tex")
    parser.add_argument("--pdf", action="store_true", help="its figures, too, as figures/*.pdf")
    options = parser.read(arguments)
    for folder in options.folders:
        say(f"report: {write_report(folder, pdf=options.pdf)}")
        if options.pdf:
            say(f"figures: {folder / 'figures'}/*.pdf")
        if options.latex:
            for path in _written(folder, write_bench_latex, write_run_latex):
                say(f"table: {path}")


def write_report(folder: Path, *, pdf: bool = False) -> Path:
    """The report of a run or a bench, by what is in the folder."""
    of_bench, of_run = (partial(write, pdf=pdf) for write in (write_bench_report, write_run_report))
    return _written(folder, of_bench, of_run)


def _written(folder: Path, of_bench: Callable[[Path], T], of_run: Callable[[Path], T]) -> T:
    """What one of the two writes, by what is in the folder."""
    try:
        if (folder / INDEX).is_file():
            return of_bench(folder)
        if (folder / METRICS).is_file():
            with claimed(folder):
                if not can_be_resumed(folder):
                    remove_checkpoints(folder)  # what there may be left of one
                return of_run(folder)
    except OSError as error:
        raise TagmaError(f"{folder}: the report cannot be made ({error})") from None
    missing = "is not there" if not folder.exists() else f"has neither {METRICS} nor {INDEX}"
    raise TagmaError(f"{folder}: {missing}; name the folder of a finished run or of a bench")
