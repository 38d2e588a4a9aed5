"""`tagma bench adaptive`: every attack by somebody who tries, against one defence.

For each attack and share of Byzantine clients the parameters that the attack declares are searched
for the largest harm (`tagma.bench.attack_hunt`): the served error over that of a federation without
Byzantine clients. The worst parameters are a choice among noisy figures; so they are tried once
more on fresh seeds, and that is the figure to believe.

All runs are kept in the folder: after an interruption the same command goes on.
"""

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from tagma.attacks.parameter_search import Point
from tagma.bench.attack_hunt import Hunt, with_seed
from tagma.bench.cell_store import cells_folder
from tagma.bench.federation_cell import FederationCell
from tagma.bench.local_workers import LocalWorkers, Workers
from tagma.bench.reproduce.paper_claims import number
from tagma.bench.runner import run_cells
from tagma.errors import TagmaError
from tagma.escaping import TableWriter
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, say
from tagma.launch.progress_bar import ProgressBar

ATTACKS = (
    "shrink", "imposters", "imposters+tilt", "copycat", "flood", "tilt", "median_then_tilt",
    "halfway", "bridge", "fake_cluster", "split", "starve",
)  # fmt: skip
_TOGETHER = 10
"""Tries between two looks at what they did. Not the number of workers: a search is the same with
any."""
_HELP = """Every attack with its worst parameters, against one defence.

  tagma bench adaptive preset=tagma
  tagma bench adaptive preset=paper --attacks shrink,imposters+tilt --alphas 0.4 --tries 30
  tagma bench adaptive preset=tagma --attacks imposters --range clusters=3:5

NAME+LATER is the attack NAME with attack.later=LATER; settings of `tagma run` hold for all runs.
Prints the worst parameters with the served error over that of a federation without Byzantine
clients, and writes them to adaptive.json, and every try to adaptive.csv, in the folder."""


def main(arguments: list[str]) -> None:
    """Search, and say what was found."""
    options = _options(arguments)
    folder = Path(options.out)
    seeds = range(options.seed, options.seed + options.trials)
    hunts = [
        Hunt.of(name, alpha, options.overrides,
                tries=options.tries, seeds=seeds, ranges=options.ranges)
        for name in options.attacks for alpha in options.alphas
    ]  # fmt: skip
    kept = cells_folder(folder)
    with closing(LocalWorkers(options.workers, kept)) as workers:
        while asked := [(hunt, own) for hunt in hunts if (own := hunt.ask(_TOGETHER))[0]]:
            tries = [(hunt, point, on) for hunt, (points, on) in asked for point in points]
            found = iter(_ratios(tries, kept, workers))
            for hunt, (points, _) in asked:
                hunt.tell([next(found) for _ in points])
        worst = [(hunt, hunt.search.points[hunt.worst]) for hunt in hunts]
        later = range(seeds.stop, seeds.stop + options.fresh)
        fresh = _ratios([(*own, later) for own in worst], kept, workers)
    rows: list[dict[str, Any]] = [
        {
            "attack": hunt.name,
            "fraction": float(hunt.alpha),
            "as given": float(np.mean(hunt.ratios[0])),
            "searched": float(np.mean(hunt.ratios[hunt.worst])),
            "on fresh seeds": float(np.mean(ratios)),
            "worst of them": max(ratios),
            "settings": hunt.overrides(point),
        }
        for (hunt, point), ratios in zip(worst, fresh, strict=True)
    ]
    command = shlex.join(["tagma", "bench", "adaptive", *arguments])
    (folder / "adaptive.json").write_text(json.dumps({"command": command, "worst": rows}) + "\n")
    _write_tries(folder / "adaptive.csv", hunts)
    console.print(_table(rows))
    for row in rows:
        say(f"{row['attack']}, {row['fraction']}: {shlex.join(row['settings'])}")
    say(f"results: {folder / 'adaptive'}.json, .csv")


def _options(arguments: list[str]) -> Namespace:
    line = CommandLine("bench adaptive", _HELP, overrides=True)
    default = "(default: %(default)s)"
    line.add_argument(
        "--attacks", type=_listed, metavar="NAME,...", default=ATTACKS,
        help=f"default: {','.join(ATTACKS)}",
    )  # fmt: skip
    line.add_argument(
        "--alphas", type=_listed, metavar="SHARE,...", default="0.2,0.3,0.4",
        help=f"of Byzantine clients {default}",
    )  # fmt: skip
    line.add_argument(
        "--range", type=_listed, metavar="NAME=LOW:HIGH,...", dest="ranges", default=(),
        help="where to search a parameter, instead of where its attack says",
    )  # fmt: skip
    for name, count, what in (
        ("tries", 100, "sets of parameters for each attack and share"),
        ("trials", 4, "seeds for the worst of them, one for the others"),
        ("fresh", 5, "other seeds for the worst of all"),
        ("workers", os.cpu_count() or 1, "processes at a time"),
    ):
        line.add_argument(f"--{name}", type=at_least(1), default=count, help=f"{what} {default}")
    line.add_argument("--seed", type=at_least(0), default=0, help=f"the first {default}")
    line.add_argument("--out", metavar="FOLDER", default="outputs/bench/adaptive", help=default)
    return line.read(arguments)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _ratios(
    tries: Sequence[tuple[Hunt, Point, range]], kept: Path, workers: Workers
) -> list[list[float]]:
    """The served error of every try over that without Byzantine clients, by seed."""
    cells: list[FederationCell] = []
    for hunt, point, seeds in tries:
        for trial, seed in enumerate(seeds):
            cells.append(FederationCell(hunt.name, trial, hunt.settings(point, seed)))
            cells.append(FederationCell("oracle", trial, with_seed(hunt.oracle, seed)))
    with ProgressBar("adaptive") as bar:
        outcomes = run_cells(
            cells, kept, workers=workers, progress=lambda counts: bar.show(*counts.shown)
        )
    errors = []
    for outcome in outcomes:
        if outcome.result is None:
            raise TagmaError(f"{outcome.cell.method}: {outcome.error}")
        error = outcome.result["metrics"]["served_error"]
        errors.append(inf if error is None else error)
    ratios = iter((np.array(errors[::2]) / np.array(errors[1::2])).tolist())
    return [[next(ratios) for _ in seeds] for _, _, seeds in tries]


def _write_tries(path: Path, hunts: Sequence[Hunt]) -> None:
    with path.open("w", newline="") as file:
        table = TableWriter(file)
        table.row(["attack", "fraction", "try", "trial", "ratio", "settings"])
        for hunt in hunts:
            tries = zip(hunt.search.points, hunt.ratios, strict=True)
            for count, (point, ratios) in enumerate(tries):
                settings = " ".join(hunt.overrides(point))
                for trial, ratio in enumerate(ratios):
                    table.row([hunt.name, hunt.alpha, count, trial, ratio, settings])


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    columns = ("attack", "fraction", "as given", "searched", "on fresh seeds", "worst of them")
    table = Table(
        title="served error, in units of that without Byzantine clients", title_justify="left"
    )
    for column in columns:
        table.add_column(column)
    for row in rows:
        figures = [number(row[column]) for column in columns[2:]]
        table.add_row(row["attack"], str(row["fraction"]), *figures)
    return table
