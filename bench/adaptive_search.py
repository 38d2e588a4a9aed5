"""`tagma bench adaptive`: every attack by somebody who tries, against one defence.

For each attack and share of Byzantine clients the parameters that the attack declares are searched
(`tagma.attacks.parameter_search`) for the largest harm: the served error over that of a federation
without Byzantine clients, the geometric mean over some seeds. A try is whole runs, so that attacks
are found that pay off late. The worst parameters are a choice among noisy figures; so they are
tried once more on fresh seeds, and that is the figure to believe.

All runs are kept in the folder: after an interruption the same command goes on.
"""

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from tagma.attacks.adversary import adversary_of
from tagma.attacks.parameter_search import Between, OneOf, Point, Search, Space
from tagma.attacks.schedule import Phase
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
from tagma.launch.run import check
from tagma.override import key_of
from tagma.rng import stream
from tagma.settings import compose, compose_seeds

ATTACKS = (
    "shrink", "imposters", "imposters+tilt", "copycat", "flood", "tilt", "median_then_tilt",
    "halfway", "bridge", "fake_cluster", "split", "starve",
)  # fmt: skip
_RUN = ("oracle=false", "evaluate=false")
_ORACLE = ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean")
_DEFENCE = ("preset", "strategy", "clustering", "aggregation")
_TOGETHER = 10
"""Tries between two looks at what they did. Not the number of workers: a search is the same with
any."""
_LEAST, _MOST = 1e-9, 1e9
"""Ratios beyond this count as this in a search."""
_LATER = "later."
"""Before the parameters of what an attack does later."""

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
    hunts = [_hunt(name, alpha, options) for name in options.attacks for alpha in options.alphas]
    kept = cells_folder(folder)
    with closing(LocalWorkers(options.workers, kept)) as workers:
        while asked := [(hunt, points) for hunt in hunts if (points := hunt.search.ask(_TOGETHER))]:
            tries = [(hunt, point) for hunt, points in asked for point in points]
            found = _ratios(tries, options.seed, options.trials, kept, workers)
            for (hunt, _), ratios in zip(tries, found, strict=True):
                hunt.ratios.append(ratios)
            for hunt, points in asked:
                hunt.search.tell([_harm(ratios) for ratios in hunt.ratios[-len(points) :]])
        worst = [(hunt, hunt.search.points[hunt.search.best]) for hunt in hunts]
        fresh = _ratios(worst, options.seed + options.trials, options.fresh, kept, workers)
    rows: list[dict[str, Any]] = [
        {
            "attack": hunt.name,
            "fraction": float(hunt.alpha),
            "as given": float(np.mean(hunt.ratios[0])),
            "searched": float(np.mean(hunt.ratios[hunt.search.best])),
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
        ("trials", 3, "seeds for each of them"),
        ("fresh", 5, "other seeds for the worst"),
        ("workers", os.cpu_count() or 1, "processes at a time"),
    ):
        line.add_argument(f"--{name}", type=at_least(1), default=count, help=f"{what} {default}")
    line.add_argument("--seed", type=at_least(0), default=0, help=f"the first {default}")
    line.add_argument("--out", metavar="FOLDER", default="outputs/bench/adaptive", help=default)
    return line.read(arguments)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


@dataclass
class _Hunt:
    """The search for the worst that one attack can do at one share."""

    name: str
    alpha: str
    common: tuple[str, ...]
    """The settings of the defence and the task."""
    later: dict[str, Any] | None
    """What the attack does later, without parameters that are searched."""
    search: Search
    ratios: list[list[float]] = field(default_factory=list)
    """What every try did, by seed."""

    def overrides(self, point: Point) -> list[str]:
        """The settings of the attack with these parameters."""
        first = self.name.partition("+")[0]
        own = [f"attack={first}", f"attack.fraction={self.alpha}"]
        later = dict(self.later or {})
        for name, value in point.items():
            if name.startswith(_LATER):
                later[name.removeprefix(_LATER)] = value
            else:
                own.append(f"attack.{name}={_text(value)}")
        inside = ",".join(f"{name}:{_text(value)}" for name, value in later.items())
        return [*own, f"attack.later={{{inside}}}"] if later else own


def _hunt(name: str, alpha: str, options: Namespace) -> _Hunt:
    first, _, then = name.partition("+")
    common = (*_RUN, *options.overrides)
    later = [f"attack.later={then}"] if then else []
    settings = compose([*common, f"attack={first}", f"attack.fraction={alpha}", *later])
    check(settings)
    space: dict[str, Between | OneOf] = {}
    given: dict[str, Any] = {}
    for phase in adversary_of(settings).squads[0].phases:
        prefix = "" if phase.key == "attack" else _LATER
        for parameter, where in _space_of(phase).items():
            value = getattr(phase.attack, parameter)
            narrowed = _narrowed(parameter, where, options.ranges)
            if narrowed is not where:
                value = narrowed.at(narrowed.place(value))
            space[prefix + parameter], given[prefix + parameter] = narrowed, value
    told = settings.choice("attack").get("later")
    random = stream(options.seed, "adaptive", *f"{name} {alpha}".encode())
    search = Search(space, given, options.tries, random)
    return _Hunt(name, alpha, common, {"name": told} if isinstance(told, str) else told, search)


def _space_of(phase: Phase) -> Space:
    """What the attack declares; of one with a line search of its own, whether to use it."""
    attack = phase.attack
    space = {**getattr(attack, "space", {}), **getattr(attack, "over_rounds", {})}
    if not space and hasattr(attack, "optimise"):
        return {"optimise": OneOf((False, True))}
    return space


def _narrowed(name: str, where: Between | OneOf, ranges: Sequence[str]) -> Between | OneOf:
    for text in ranges:
        named, _, limits = text.partition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            low, high = inf, -inf
        if low > high:
            raise TagmaError(f"--range {text}: must be like scatter=0.1:0.5")
        if named == name and isinstance(where, Between):
            return replace(where, low=low, high=high)
    return where


def _ratios(
    tries: Sequence[tuple[_Hunt, Point]], seed: int, trials: int, kept: Path, workers: Workers
) -> list[list[float]]:
    """The served error of every try over that without Byzantine clients, by seed."""

    @cache
    def cells_of(method: str, *overrides: str) -> list[FederationCell]:
        seeds = compose_seeds((*overrides, "checkpoint_every=0"), range(seed, seed + trials))
        return [FederationCell(method, trial, one) for trial, one in enumerate(seeds)]

    cells: list[FederationCell] = []
    for hunt, point in tries:
        task = [text for text in hunt.common if key_of(text).partition(".")[0] not in _DEFENCE]
        plain = [f"attack={hunt.name.partition('+')[0]}", f"attack.fraction={hunt.alpha}"]
        cells += cells_of(hunt.name, *hunt.common, *hunt.overrides(point))
        cells += cells_of("oracle", *task, *plain, *_ORACLE)
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
    shaped = np.array(errors).reshape(len(tries), 2, trials)
    return (shaped[:, 0] / shaped[:, 1]).tolist()


def _harm(ratios: Sequence[float]) -> float:
    """Of several seeds; one that diverged must not decide alone."""
    return float(np.exp(np.log(np.clip(ratios, _LEAST, _MOST)).mean()))


def _write_tries(path: Path, hunts: Sequence[_Hunt]) -> None:
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


def _text(value: Any) -> str:
    """A value as Hydra reads it; three digits are enough to say what was found."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value)
