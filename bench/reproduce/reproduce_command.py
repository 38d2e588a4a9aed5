"""`tagma reproduce`: experiments of the paper and of rivals, resumable, with figures and claims."""

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tagma import __version__
from tagma.bench.cell_store import cells_folder
from tagma.bench.reproduce.experiment import Experiment, Row
from tagma.bench.reproduce.paper_claims import Claim, as_markdown
from tagma.bench.reproduce.resumable_runs import kept, progress_by_rounds, progress_by_runs
from tagma.bench.runner import run_cells
from tagma.errors import TagmaError
from tagma.escaping import TableWriter
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, say, warn
from tagma.launch.progress_bar import ProgressBar

_RIVALS = ("ifca", "brifca", "werner")
_NAMES = (
    "misclustering",
    "estimation",
    "ranking",
    "theory",
    "two_clusters",
    "k_clusters",
    "high_dimension",
    "beyond",
    *_RIVALS,
)

_ABOUT = """Experiments of the paper and of rivals: figures, what they say and what we measure.

{experiments}

Writes NAME.csv (one row per trial, setting and method), NAME.svg, NAME.png and NAME.md (what they
say, what we measure, whether it holds). Finished runs are kept in the folder: after an
interruption only the missing ones run.

  tagma reproduce misclustering
  tagma reproduce estimation --trials 5 attack.fraction=0.2     any setting of `tagma run`
  tagma reproduce ifca task.data=FOLDER                         with the folder of MNIST's files"""


def main(arguments: list[str]) -> None:
    """Run one experiment and write what came out."""
    line = _command_line(next((text for text in arguments if text in _NAMES), None))
    if not arguments:
        say(line.format_help())
        return
    options = line.read(arguments)
    if options.name not in _NAMES:
        known = f"there is no such experiment; known: {', '.join(_NAMES)}"
        raise TagmaError(f"{options.name}: {known}")
    experiment = _experiment(options.name)
    if options.full:
        if experiment.full is None:
            raise TagmaError(f"--full: {options.name} has one size only")
        experiment = experiment.full
    reproduce(experiment, options, options.overrides)


def _command_line(name: str | None) -> CommandLine:
    """The options; the help is that of the experiment which is named, if one is."""
    if name is None:
        shown = "\n".join(f"  {name:15} {_experiment(name).about}" for name in _NAMES)
    else:
        shown = f"{name}: {_experiment(name).about}\n\n{_experiment(name).notes([])}"
    line = CommandLine("reproduce", _ABOUT.format(experiments=shown), overrides=True)
    default = "(default: %(default)s)"
    line.add_argument("name", metavar="NAME", help="the experiment")
    usual = _experiment(name).trials if name else "20; of the rivals' tables 1 to 10"
    line.add_argument("--trials", type=at_least(1), help=f"how many (default: {usual})")
    line.add_argument(
        "--full", action="store_true", help="at the authors' size, where that takes hours (ifca)"
    )
    line.add_argument(
        "--seed", type=at_least(0), default=0, help=f"trial t has this plus t {default}"
    )
    line.add_argument(
        "--workers", type=at_least(1), default=os.cpu_count() or 1,
        help="processes at a time (default: one per core)",
    )  # fmt: skip
    line.add_argument("--out", metavar="FOLDER", help="default: outputs/reproduce/NAME")
    return line


def reproduce(
    experiment: Experiment, options: argparse.Namespace, overrides: Sequence[str]
) -> None:
    """Run the cells that are missing, then write the table, the figure and the data."""
    name = f"{experiment.name}_full" if options.full else experiment.name
    folder = Path(options.out or Path("outputs") / "reproduce" / name)
    trials = options.trials or experiment.trials
    cells = experiment.cells(trials, options.seed, overrides)
    finished = cells_folder(folder)
    with ProgressBar(experiment.name) as bar:
        if options.full:
            cells = long = kept(cells, folder / "unfinished")
            progress = progress_by_rounds(bar, long)
        else:
            progress = progress_by_runs(bar)
        outcomes = run_cells(cells, finished, workers=options.workers, progress=progress)
    failed = [outcome for outcome in outcomes if outcome.result is None]
    for outcome in failed:
        warn(f"{outcome.cell.method}, trial {outcome.cell.trial}: {outcome.error}")
    if failed:
        raise TagmaError(f"{len(failed)} of {len(cells)} runs failed; the others are kept")
    rows = [
        {"trial": o.cell.trial, "seed": options.seed + o.cell.trial} | row
        for o in outcomes
        if o.result is not None
        for row in experiment.measure(o.cell.method, o.result["metrics"])
    ]
    command = ["tagma", "reproduce", experiment.name, "--trials", str(trials)]
    command += ["--full"] if options.full else []
    command += ["--seed", str(options.seed), *overrides]
    made_by = f"`{shlex.join(command)}` with Tagma {__version__}"
    page = partial(
        as_markdown,
        experiment.about,
        made_by,
        notes=experiment.notes(overrides),
        heading=experiment.heading,
    )
    write(experiment, rows, folder, page)


def write(
    experiment: Experiment,
    rows: Sequence[Row],
    folder: Path,
    page: Callable[[Sequence[Claim]], str],
) -> None:
    """The CSV file, the figure and the table of an experiment."""
    path = folder / experiment.name
    with path.with_suffix(".csv").open("w", newline="") as file:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        table = TableWriter(file, lineterminator="\r\n")
        table.row(columns)
        table.rows([row.get(name, "") for name in columns] for row in rows)
    claims = experiment.claims(rows)
    path.with_suffix(".md").write_text(page(claims))
    experiment.draw(rows, path)
    console.print(_table(experiment, claims))
    say(f"results: {path}.csv, .svg, .png, .md")


def _table(experiment: Experiment, claims: Sequence[Claim]) -> Table:
    table = Table(title=experiment.about, title_justify="left", title_style="bold")
    for column in (experiment.heading, "we measure", "holds?"):
        table.add_column(column)
    colours = {"yes": "green", "no": "red", "undecided": "yellow"}
    for claim in claims:
        colour = colours.get(claim.holds)
        table.add_row(claim.says, claim.measured, Text(claim.holds, colour) if colour else "-")
    return table


def _experiment(name: str) -> Experiment:
    module = f"rival_{name}" if name in _RIVALS else name
    experiment: Experiment = import_module(f"tagma.bench.reproduce.{module}").EXPERIMENT
    return experiment
