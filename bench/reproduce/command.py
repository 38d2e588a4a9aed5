"""`tagma reproduce`: the paper's experiments, resumable, with figures and a table of claims."""

import argparse
import csv
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.table import Table

from bench.progress import CellProgress
from bench.reproduce.claims import Claim, as_markdown
from bench.reproduce.experiment import Experiment, Row
from bench.runner import run_cells
from launch.console import console, say, warn
from tagma.errors import TagmaError

_NAMES = (
    "misclustering",
    "estimation",
    "ranking",
    "theory",
    "two_clusters",
    "high_dimension",
    "beyond",
)

_HELP = """tagma reproduce NAME [--trials N] [--seed S] [--workers W] [--out FOLDER] [overrides]

{experiments}

Writes NAME.csv (one row per trial and method), NAME.svg, NAME.png and NAME.md (what the paper says,
what we measure, whether it holds) to --out (default: outputs/reproduce/NAME). Trial t has the seed
S + t. Finished runs are kept in the folder: after an interruption only the missing ones run.

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
    options, overrides = _options(rest)
    reproduce(_experiment(name), options, overrides)


def reproduce(
    experiment: Experiment, options: argparse.Namespace, overrides: Sequence[str]
) -> None:
    """Run the cells that are missing, then write the table, the figure and the data."""
    folder = Path(options.out or Path("outputs") / "reproduce" / experiment.name)
    cells = experiment.cells(options.trials, options.seed, overrides)
    with CellProgress(experiment.name) as progress:
        outcomes = run_cells(cells, folder / "cells", workers=options.workers, progress=progress)
    failed = [outcome for outcome in outcomes if outcome.metrics is None]
    for outcome in failed:
        warn(f"{outcome.cell.method}, trial {outcome.cell.trial}: {outcome.error}")
    if failed:
        raise TagmaError(f"{len(failed)} of {len(cells)} runs failed; the others are kept")
    rows = [
        {"method": o.cell.method, "trial": o.cell.trial, "seed": options.seed + o.cell.trial}
        | experiment.measure(o.metrics)
        for o in outcomes
        if o.metrics is not None
    ]
    write(experiment, rows, folder)


def write(experiment: Experiment, rows: Sequence[Row], folder: Path) -> None:
    """The CSV file, the figure and the table of an experiment."""
    path = folder / experiment.name
    with path.with_suffix(".csv").open("w", newline="") as file:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        table = csv.DictWriter(file, fieldnames=columns)
        table.writeheader()
        table.writerows(rows)
    claims = experiment.claims(rows)
    path.with_suffix(".md").write_text(
        as_markdown(experiment.about, claims, experiment.notes, experiment.heading)
    )
    experiment.draw(rows, path)
    console.print(_table(experiment, claims))
    say(f"results: {path}.csv, .svg, .png, .md")


def _table(experiment: Experiment, claims: Sequence[Claim]) -> Table:
    table = Table(title=experiment.about, title_justify="left", title_style="bold")
    for column in (experiment.heading, "we measure", "holds?"):
        table.add_column(column)
    words = {True: "[green]yes[/]", False: "[red]no[/]", None: "-"}
    for claim in claims:
        table.add_row(_plain(claim.says), _plain(claim.measured), words[claim.holds])
    return table


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _experiment(name: str) -> Experiment:
    experiment: Experiment = import_module(f"bench.reproduce.{name}").EXPERIMENT
    return experiment


def _options(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="tagma reproduce NAME", exit_on_error=False)
    parser.add_argument("--trials", type=_positive, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1)
    parser.add_argument("--out")
    try:
        options, overrides = parser.parse_known_args(arguments)
    except (argparse.ArgumentError, argparse.ArgumentTypeError) as error:
        raise TagmaError(str(error)) from None
    for unknown in (text for text in overrides if text.startswith("-")):
        raise TagmaError(
            f"{unknown}: there is no such option; known: --trials --seed --workers --out"
        )
    return options, overrides


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be at least 1")
    return number
