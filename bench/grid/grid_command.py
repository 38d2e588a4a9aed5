"""`tagma bench bench=NAME`: run a grid, write its tables and its report."""

import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from tagma.bench.cell_store import cells_folder
from tagma.bench.federation_cell import FederationCell
from tagma.bench.grid.expand import GridPoint, expand
from tagma.bench.grid.gate import Finding, check_findings, findings, gate_table
from tagma.bench.grid.grid_events import GridEvents
from tagma.bench.grid.grid_folder import write_results
from tagma.bench.grid.metric import with_metric
from tagma.bench.grid.plan import Plan, read_plan
from tagma.bench.grid.table_rows import numbers_of
from tagma.bench.local_workers import LocalWorkers, Workers
from tagma.bench.ray_workers import RayWorkers
from tagma.bench.runner import Outcome, run_cells
from tagma.choices import choices
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices, say, warn
from tagma.launch.listing import about
from tagma.launch.progress_bar import Progress, ProgressBar
from tagma.plugins import build
from tagma.report.bench_headline import terminal_lines
from tagma.report.bench_reading import read_bench
from tagma.report.bench_report import write_bench_report
from tagma.report.leaderboard import leaderboard

_SHOWN = 10
"""So many failures are shown on the terminal; the table has all."""

_ABOUT = """Every combination of a grid, several seeds each.

{grids}
  or a file of your own: tagma bench bench=my_grid.yaml

A setting that is an axis of the grid gets other values; any other holds for all cells:
  tagma bench quick                                       short for bench=quick
  tagma bench attacks 'attack=[alie,ipm]' seeds=3 rounds=10
  tagma bench attacks 'defence=[paper,tagma]' attack.fraction=0.1,0.2,0.3    a new axis
  tagma bench attacks "defence=[tagma,{{mine:['aggregation=krum','clustering=kmeans']}}]"

  seeds=5 or [7,8]             how many seeds, or which
  bench.workers=2              processes at a time (default: one per core)
  bench.timeout=600            seconds after which a cell is given up
  bench.runner=local           or ray: the cluster that RAY_ADDRESS names, or one of its own
  bench.folder=FOLDER          where results go (default: outputs/bench/NAME)
  bench.metric=misclustering   what the report ranks by (default: the first score of the task)
  bench.gate=[]                do not ask for what the file of the grid does

Finished cells are kept in the folder and never run again, whatever ends the program; failed ones
are tried again. Several processes, also on several computers, may share one folder. Writes
table.csv, timings.csv, rounds.csv, iterations.csv (each also as .parquet), bench.json and
report.html. The exit code is 0 only if every cell succeeded and the grid shows what its `gate`
asks for, if it has one."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the cells that are missing, then write everything."""
    line = CommandLine("bench NAME", _ABOUT.format(grids=known_grids()), overrides=True)
    line.add_argument("--dry-run", action="store_true", help="check all settings, and say how many")
    options = line.read(arguments)
    plan = read_plan(name, options.overrides)
    combinations = plan.size // len(plan.seeds)
    notices.print(f"{plan.name}: checking {combinations} combinations ...", highlight=False)
    points = expand(plan)
    plan = with_metric(plan, points)
    cells = cells_of(points)
    if options.dry_run:
        say(f"{plan.title}: {len(points)} cells, {len(cells)} runs, in {plan.folder}")
        return
    notices.print(_engines(cells.values()), highlight=False)
    command = shlex.join(["tagma", "bench", f"bench={name}", *options.overrides])
    outcomes = run_grid(plan, points, command, ProgressBar(plan.name))
    bench = read_bench(plan.folder)
    say("\n".join(terminal_lines(bench, leaderboard(bench))))
    say(f"report: {plan.folder / 'report.html'}")
    for text in failures(outcomes.values()):
        warn(text)
    check_failures(outcomes.values())
    if plan.gate:
        found = found_by_gate(plan, points, outcomes)
        console.print(gate_table(found))
        check_findings(found)


def run_grid(
    plan: Plan, points: Sequence[GridPoint], command: str, progress: Progress
) -> dict[str, Outcome]:
    """Run the cells that are missing; the folder has all tables and the report afterwards."""
    cells = cells_of(points)
    kept = cells_folder(plan.folder, "bench.folder=")
    _prepare_trackers(cells.values())
    with (
        progress as bar,
        closing(_workers(plan, kept)) as workers,
        closing(GridEvents(plan, points)) as events,
    ):
        ends = run_cells(
            list(cells.values()), kept, workers=workers,
            progress=lambda counts: bar.show(*counts.shown), on_cell=events,
        )  # fmt: skip
    outcomes = dict(zip(cells, ends, strict=True))
    write_results(plan, points, outcomes, command)
    write_bench_report(plan.folder)
    return outcomes


def known_grids() -> str:
    """Every grid that ships, a line each."""
    return "\n".join(f"  {name:16} {about('bench', name)}" for name in choices("bench"))


def cells_of(points: Sequence[GridPoint]) -> dict[str, FederationCell]:
    """The work by its keys: seed by seed, so that the first results are of the whole grid."""
    seeds = list(dict.fromkeys(point.seed for point in points))
    by_seed = sorted(points, key=lambda point: seeds.index(point.seed))
    cells = (c for point in by_seed for c in (point.cell, point.reference) if c is not None)
    return {cell.key: cell for cell in cells}


def _engines(cells: Iterable[FederationCell]) -> str:
    """How many cells run on which engine."""
    counted = Counter(cell.engine for cell in cells)
    return ", ".join(f"{count} cells on engine={name}" for name, count in counted.most_common())


def _prepare_trackers(cells: Iterable[FederationCell]) -> None:
    """Whatever a tracker has to make once, before several cells begin at the same time."""
    chosen = {repr(one): one for one in (cell.settings.choice("tracking") for cell in cells)}
    for settings in chosen.values():
        prepare = getattr(build("tracking", settings), "prepare", None)
        if prepare is not None:
            try:
                prepare()
            except Exception as problem:
                first = str(problem).partition("\n")[0]
                why = f"{type(problem).__name__}: {first}"
                raise TagmaError(f"tracking: cannot begin ({why})") from None


def _workers(plan: Plan, folder: Path) -> Workers:
    if plan.runner == "ray":
        return RayWorkers(plan.workers, folder, plan.timeout)
    return LocalWorkers(plan.workers or os.cpu_count() or 1, folder, plan.timeout)


def failures(outcomes: Iterable[Outcome]) -> list[str]:
    """The first cells that failed, a line each."""
    failed = [outcome for outcome in outcomes if outcome.result is None]
    return [f"{one.cell.method}, seed {one.cell.trial}: {one.error}" for one in failed[:_SHOWN]]


def check_failures(outcomes: Collection[Outcome]) -> None:
    """An error if any cell failed."""
    failed = [outcome for outcome in outcomes if outcome.result is None]
    if failed:
        raise TagmaError(
            f"{len(failed)} of {len(outcomes)} cells failed (table.csv has the reasons); "
            "the others are kept, and the same command tries these again"
        )


def found_by_gate(
    plan: Plan, points: Sequence[GridPoint], outcomes: Mapping[str, Outcome]
) -> list[Finding]:
    """What the gate finds; points of one combination follow each other, and all have results."""
    numbers = []
    for values, own in groupby(points, key=lambda point: point.values):
        results = [outcomes[point.cell.key].result or {} for point in own]
        numbers.append((values, [numbers_of(one["metrics"]) for one in results]))
    found = []
    for requirement in plan.gate:
        metric = requirement.metric or str(plan.metric)
        samples = [(values, [row.get(metric) for row in rows]) for values, rows in numbers]
        found += findings([requirement], samples)
    return found
