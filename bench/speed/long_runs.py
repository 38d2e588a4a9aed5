"""`tagma bench long_runs`: many rounds, on arrays and with messages.

First the setting of an experiment that others publish: 5 clusters, 200 clients of 100 examples,
20 coefficients, 299 rounds. CPU seconds of one run on either engine, from settings to results, the
start of Python not counted, in turns; the medians are compared. Then a run of 2,000 rounds with a
checkpoint in each: what the last 200 rounds cost beside the first 200.
"""

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.table import Table

from tagma.bench.peak_memory import peak_memory
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices
from tagma.launch.progress_bar import ProgressBar
from tagma.launch.run import check, log_to_root
from tagma.plugins import build
from tagma.server.results.events import Observer, RoundFinished
from tagma.settings import Settings, compose

_ABOUT = """CPU time of runs with many rounds, on vectorised and inprocess; a few minutes.

Fails unless vectorised is 8 times as fast with a checkpoint in each round, and the last 200 of
2,000 rounds cost at most 1.1 times as much as the first 200.
  tagma bench long_runs
  tagma bench long_runs task.dim=100      any setting of `tagma run` can be changed"""

_SETTING = [
    "task.clusters=5", "task.clients=200", "task.samples=100", "task.dim=20", "rounds=299",
    "attack=sign_flip", "attack.fraction=0.05", "evaluate=false",
]  # fmt: skip
_KINDS = {
    "three stages": [],
    "three stages, no checkpoints": ["checkpoint_every=0"],
    "ifca": ["strategy=ifca"],
}
_TIMES, _REQUIRED = 5, 8.0
_ROUNDS, _PART, _GROWTH = 2000, 200, 1.1


def main(arguments: list[str]) -> None:
    """Compare the engines, then the first rounds of a long run with its last."""
    given = CommandLine("bench long_runs", _ABOUT, overrides=True).read(arguments).overrides
    log_to_root("flwr")
    table = Table(title="CPU seconds of a run of 299 rounds, medians of 5", title_justify="left")
    for column in ("strategy", "inprocess", "vectorised", "times"):
        table.add_column(column, justify="left" if column == "strategy" else "right")
    ratios = {}
    for kind, own in _KINDS.items():
        notices.print(f"{kind} ...", highlight=False)
        slow, fast = _side_by_side([*_SETTING, *own, *given])
        ratios[kind] = slow / fast
        table.add_row(kind, f"{slow:.2f}", f"{fast:.3f}", f"{ratios[kind]:.1f}")
    console.print(table)
    growth = _growth(given)
    if (least := min(ratios.values())) < _REQUIRED:
        raise TagmaError(f"vectorised is only {least:.1f} times as fast, not {_REQUIRED:g}")
    if growth > _GROWTH:
        raise TagmaError(f"late rounds cost {growth:.2f} times as much as early ones")


def _side_by_side(overrides: list[str]) -> tuple[float, float]:
    """CPU seconds on inprocess and on vectorised, medians."""
    both = [_settings([*overrides, f"engine={engine}"]) for engine in ("inprocess", "vectorised")]
    for settings in both:
        _seconds(settings)  # what happens once is not measured
    spent = [[_seconds(settings) for settings in both] for _ in range(_TIMES)]
    slow, fast = (median(column) for column in zip(*spent, strict=True))
    return slow, fast


def _growth(given: list[str]) -> float:
    """What the last rounds cost, in units of the first; says so, with the memory that was added."""
    settings = _settings([*_SETTING, *given, f"rounds={_ROUNDS}", "engine=vectorised"])
    spent: list[float] = []
    memory: list[int] = []
    with ProgressBar("rounds") as progress:

        def observe(event: RoundFinished) -> None:
            spent.append(time.process_time())
            memory.append(peak_memory())
            progress.round(event)

        _run(settings, observe)
    first, last = (spent[_PART] - spent[0], spent[-1] - spent[-1 - _PART])
    console.print(
        f"{_ROUNDS} rounds with a checkpoint in each: the last {_PART} cost {last / first:.2f} "
        f"times the first {_PART}; {(memory[-1] - memory[_PART]) / 2**20:.1f} MiB added between",
        highlight=False,
    )
    return last / first


def _settings(overrides: list[str]) -> Settings:
    settings = compose(overrides)
    check(settings)
    return settings


def _seconds(settings: Settings) -> float:
    start = time.process_time()
    _run(settings, lambda event: None)
    return time.process_time() - start


def _run(settings: Settings, observer: Observer) -> None:
    with TemporaryDirectory() as folder:
        build("engine", settings.choice("engine"))(settings, Path(folder), observer)
