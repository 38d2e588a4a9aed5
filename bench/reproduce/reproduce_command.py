"""`tagma reproduce`: the paper's experiments, resumable, with figures and a table of claims."""

import argparse
import csv
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from rich.table import Table

from tagma import __version__
from tagma.bench.cells_progress import CellProgress
from tagma.bench.reproduce.experiment import Experiment, Row
from tagma.bench.reproduce.paper_claims import Claim, as_markdown
from tagma.bench.runner import run_cells
from tagma.bench.trial_options import cells_folder, trial_options
from tagma.errors import TagmaError
from tagma.launch.console import console, say, warn

_NAMES = (
    "misclustering",
    "estimation",
    "ranking",
    "theory",
    "two_clusters",
    "k_clusters",
    "high_dimension",
    "beyond",
)

_HELP = """tagma reproduce NAME [--trials N] [--seed S] [--workers W] [--out FOLDER] [overrides]

{experiments}

Writes NAME.csv (one row per trial, setting and method), NAME.svg, NAME.png and NAME.md (what the
paper says, what we measure, whether it holds) to --out (default: outputs/reproduce/NAME). Trial t
has the seed S + t, 20 trials by default. Finished runs are kept in the folder: after an
interruption only the missing ones run.

  tagma reproduce misclustering
  tagma reproduce estimation --trials 5 attack.fraction=0.2     any setting of `tagma run`"""


def main(arguments: list[str]) -> None:
    """Run one experiment and write what came out."""
    if not arguments or arguments[0] in ("--help", "-h"):
        about = "\n".join(f"  {name:15} {_experiment(name).about}" for name in _NAMES)
        say(_HELP.format(experiments=about))
        return
    name, *rest = arguments
    if name not in _NAMES:
        raise TagmaError(f"{name}: there is no such experiment; known: {', '.join(_NAMES)}")
    if "--help" in rest or "-h" in rest:
        experiment = _experiment(name)
        say(_HELP.format(experiments=f"{name}: {experiment.about}\n\n{experiment.notes([])}"))
        return
    options, overrides = trial_options(rest)
    reproduce(_experiment(name), options, overrides)


def reproduce(
    experiment: Experiment, options: argparse.Namespace, overrides: Sequence[str]
) -> None:
    """Run the cells that are missing, then write the table, the figure and the data."""
    folder = Path(options.out or Path("outputs") / "reproduce" / experiment.name)
    cells = experiment.cells(options.trials, options.seed, overrides)
    kept = cells_folder(folder)
    with CellProgress(experiment.name) as progress:
        outcomes = run_cells(cells, kept, workers=options.workers, progress=progress)
    failed = [outcome for outcome in outcomes if outcome.metrics is None]
    for outcome in failed:
        warn(f"{outcome.cell.method}, trial {outcome.cell.trial}: {outcome.error}")
    if failed:
        raise TagmaError(f"{len(failed)} of {len(cells)} runs failed; the others are kept")
    rows = [
        {"trial": o.cell.trial, "seed": options.seed + o.cell.trial} | row
        for o in outcomes
        if o.metrics is not None
        for row in experiment.measure(o.cell.method, o.metrics)
    ]
    command = ["tagma", "reproduce", experiment.name, "--trials", str(options.trials)]
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
        table = csv.DictWriter(file, fieldnames=columns)
        table.writeheader()
        table.writerows(rows)
    claims = experiment.claims(rows)
    path.with_suffix(".md").write_text(page(claims))
    experiment.draw(rows, path)
    console.print(_table(experiment, claims))
    say(f"results: {path}.csv, .svg, .png, .md")


def _table(experiment: Experiment, claims: Sequence[Claim]) -> Table:
    table = Table(title=experiment.about, title_justify="left", title_style="bold")
    for column in (experiment.heading, "we measure", "holds?"):
        table.add_column(column)
    words = {"yes": "[green]yes[/]", "no": "[red]no[/]", "undecided": "[yellow]undecided[/]"}
    for claim in claims:
        table.add_row(_plain(claim.says), _plain(claim.measured), words.get(claim.holds, "-"))
    return table


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _experiment(name: str) -> Experiment:
    experiment: Experiment = import_module(f"tagma.bench.reproduce.{name}").EXPERIMENT
    return experiment
