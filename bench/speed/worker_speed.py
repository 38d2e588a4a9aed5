"""`tagma bench workers`: how much faster two workers are than one.

Both do the same cells of a grid, block by block and in turns, so that whatever else the computer
does meets both alike. Their processes are up and warm before the clock starts.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from tagma.bench.cells import Cell
from tagma.bench.grid.expand import expand
from tagma.bench.grid.plan import read_plan
from tagma.bench.local_workers import LocalWorkers, Workers
from tagma.bench.ray_workers import RayWorkers
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices

_ABOUT = """Cells per second with one worker and with two.

Fails unless two are at least 1.7 times as fast as one. Nothing is kept.
  tagma bench workers                       the grid `standard`, its first seed
  tagma bench workers quick rounds=5        another grid, with settings as in `tagma bench`
  tagma bench workers bench.runner=ray      workers on Ray, where RAY_ADDRESS says"""

_REQUIRED = 1.7
_COUNTS = 1, 2
_BLOCK = 24
"""Cells in a turn: enough that the last of them, which runs alone, hardly counts."""


def main(arguments: list[str]) -> None:
    """Measure and compare."""
    given = CommandLine("bench workers [GRID]", _ABOUT, overrides=True).read(arguments).overrides
    named = bool(given) and "=" not in given[0]
    name, settings = (given[0], given[1:]) if named else ("standard", given)
    plan = read_plan(name, ["seeds=1", *settings])
    points = expand(plan)
    with TemporaryDirectory() as scratch:
        kind = RayWorkers if plan.runner == "ray" else LocalWorkers
        with closing(kind(max(_COUNTS), Path(scratch))) as pool:
            seconds = _measure([point.cell for point in points], pool)
    table = Table(title=f"{len(points)} cells of {name}", title_justify="left")
    for column in ("workers", "cells/s", "times one"):
        table.add_column(column, justify="right")
    for count, taken in seconds.items():
        table.add_row(str(count), f"{len(points) / taken:.2f}", f"{seconds[1] / taken:.2f}")
    console.print(table)
    ratio = seconds[1] / seconds[2]
    if ratio < _REQUIRED:
        raise TagmaError(f"two workers are only {ratio:.2f} times as fast as one, not {_REQUIRED}")


def _measure(cells: Sequence[Cell], pool: Workers) -> dict[int, float]:
    """The seconds that all cells take, by the number of workers."""
    seconds = dict.fromkeys(_COUNTS, 0.0)
    _run(pool, cells[: max(_COUNTS)], max(_COUNTS))
    for start in range(0, len(cells), _BLOCK):
        notices.print(f"{start} of {len(cells)} cells ...", highlight=False)
        for count in seconds:
            begin = time.monotonic()
            _run(pool, cells[start : start + _BLOCK], count)
            seconds[count] += time.monotonic() - begin
    return seconds


def _run(pool: Workers, cells: Sequence[Cell], count: int) -> None:
    """Run the cells, so many at a time."""
    waiting, running = list(cells), 0
    while waiting or running:
        while waiting and running < count:
            cell = waiting.pop()
            pool.start(cell.key, cell)
            running += 1
        for end in pool.ended(60.0):
            running -= 1
            if end.error:
                raise TagmaError(f"a cell failed: {end.error}")
