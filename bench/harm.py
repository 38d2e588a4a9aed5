"""`tagma bench harm`: what every attack does to a federation without a defence, and with one.

The setting is the paper's with 20 % Byzantine clients. Every attack meets two systems, without a
defence (K-means, mean) and with the paper's (trimmed K-means, trimmed mean); both also run without
Byzantine clients. An attack hurts if it at least doubles the error of the system without a defence.
Those that cannot, by their nature, are listed with the reason.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from tagma.bench.cells import RunCell
from tagma.bench.cells_progress import CellProgress
from tagma.bench.reproduce.experiment import check_once
from tagma.bench.reproduce.paper_claims import number
from tagma.bench.runner import run_cells
from tagma.bench.trial_options import cells_folder, trial_options
from tagma.errors import TagmaError
from tagma.launch.console import console, say
from tagma.settings import choices, compose

_HELP = """tagma bench harm [--trials N] [--seed S] [--workers W] [--out FOLDER] [overrides]

The estimation error of every attack, by 20 % of the clients, against a federation without a
defence (K-means, mean) and against the paper's (trimmed K-means, trimmed mean). Writes harm.csv
and harm.md to --out (default: outputs/bench/harm). Finished runs are kept there.

The exit code is 0 only if every attack at least doubles the error of the undefended system, or is
known not to and why."""

_COMMON = (
    "task.clients=100", "task.clusters=5", "task.dim=100", "task.samples=200", "task.noise=2",
    "evaluate=false", "oracle=false",
)  # fmt: skip
_SYSTEMS = {
    "undefended": ("clustering=kmeans", "aggregation=mean"),
    "defended": ("clustering=trimmed_kmeans", "aggregation=trimmed_mean"),
}
_FRACTION = "attack.fraction=0.2"
_TENTHS = "attack.attacks=[{name:sign_flip,fraction:0.1},{name:alie,fraction:0.1}]"
_OPTIMISED = " optimised"
_TWICE = 2.0
_OTHER_DATA = ("shifted_mean",)
"""Attacks for tasks other than this one."""
HARMLESS = {
    "garbage": "no: it is dropped before any defence sees it, and only its clients are lost",
    "stale": "no: near the optimum an old update hardly differs from a new one",
    "mimic": "no: what it repeats is honest, and honest clients of a cluster differ little",
    "alie": "no: it hides, and a fifth of the clients within the noise moves a mean by less",
    "min_max": "no: for the same reason as alie",
    "min_sum": "no: for the same reason as alie",
}
"""Attacks that do not double the error, and why."""


def main(arguments: list[str]) -> None:
    """Run all attacks against both systems and print the table."""
    if "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    options, overrides = trial_options(arguments, trials=10)
    names = _names()
    cells = [
        RunCell(
            f"{system} {name}", trial, (*_COMMON, *own, *_attack(name), *overrides),
            options.seed + trial,
        )
        for trial in range(options.trials)
        for name in names
        for system, own in _SYSTEMS.items()
    ]  # fmt: skip
    check_once(cells)
    folder = Path(options.out or "outputs/bench/harm")
    kept = cells_folder(folder)
    with CellProgress("harm") as progress:
        outcomes = run_cells(cells, kept, workers=options.workers, progress=progress)
    errors: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.metrics is None:
            raise TagmaError(f"{outcome.cell.method}: {outcome.error}; the others are kept")
        error = outcome.metrics["estimation_error"]
        errors.setdefault(outcome.cell.method, []).append(np.inf if error is None else error)
    _write(folder, names, errors)
    console.print(_table(names, errors))
    say(f"results: {folder / 'harm'}.csv, .md")
    meek = [name for name in names if not _hurts(name, errors) and name not in {*HARMLESS, "none"}]
    if meek:
        raise TagmaError(f"{', '.join(meek)}: does not double the error of the undefended system")


def _names() -> list[str]:
    """All attacks that suit the task, those with a scale also as strong as they can be."""
    names = []
    for name in choices("attack"):
        if name not in _OTHER_DATA:
            names.append(name)
            if "optimise" in compose([f"attack={name}"]).choice("attack"):
                names.append(name + _OPTIMISED)
    return names


def _attack(name: str) -> tuple[str, ...]:
    if name == "none":
        return ("attack=none",)
    if name == "mixed":
        return ("attack=mixed", _TENTHS)
    if name.endswith(_OPTIMISED):
        return (f"attack={name.removesuffix(_OPTIMISED)}", _FRACTION, "attack.optimise=true")
    return (f"attack={name}", _FRACTION)


def _ratio(name: str, system: str, errors: dict[str, list[float]]) -> float:
    """The error over that of the same system without Byzantine clients, by medians."""
    attacked, free = errors[f"{system} {name}"], errors[f"{system} none"]
    return float(np.median(attacked) / np.median(free))


def _hurts(name: str, errors: dict[str, list[float]]) -> bool:
    return _ratio(name, "undefended", errors) >= _TWICE


def _cells(name: str, errors: dict[str, list[float]]) -> list[str]:
    """One row of the table."""
    shown = []
    for system in _SYSTEMS:
        sample = errors[f"{system} {name}"]
        shown += [
            f"{number(float(np.median(sample)))} ({number(min(sample))} to {number(max(sample))})",
            f"{number(_ratio(name, system, errors))}",
        ]
    verdict = "yes" if _hurts(name, errors) else HARMLESS.get(name, "no")
    verdict = "" if name == "none" else verdict
    return [name, *shown, verdict]


_HEADINGS = (
    "attack", "undefended: median (range)", "times no attack",
    "defended: median (range)", "times no attack", "hurts?",
)  # fmt: skip


def _table(names: Sequence[str], errors: dict[str, list[float]]) -> Table:
    table = Table(title="Estimation error under attack", title_justify="left", title_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading)
    for name in names:
        table.add_row(*_cells(name, errors))
    return table


def _write(folder: Path, names: Sequence[str], errors: dict[str, list[float]]) -> None:
    with (folder / "harm.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["attack", "system", "trial", "estimation_error"])
        for name in names:
            for system in _SYSTEMS:
                for trial, error in enumerate(errors[f"{system} {name}"]):
                    table.writerow([name, system, trial, repr(error)])
    rows = [_HEADINGS, ("---",) * len(_HEADINGS), *(_cells(name, errors) for name in names)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    (folder / "harm.md").write_text("\n".join(lines) + "\n")
