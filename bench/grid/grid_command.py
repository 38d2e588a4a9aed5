"""`tagma bench bench=NAME`: run a grid, write its tables and its report."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from tagma.bench.cells_progress import CellProgress
from tagma.bench.grid.cell import GridCell
from tagma.bench.grid.expand import Place, expand
from tagma.bench.grid.plan import Plan, read_plan
from tagma.bench.grid.results import write_results
from tagma.bench.local_workers import LocalWorkers, Workers
from tagma.bench.ray_workers import RayWorkers
from tagma.bench.runner import Outcome, run_cells
from tagma.bench.trial_options import cells_folder
from tagma.errors import TagmaError
from tagma.launch.console import notices, say, warn
from tagma.report.bench_headline import terminal_lines
from tagma.report.bench_reading import read_bench
from tagma.report.bench_report import write_bench_report
from tagma.report.leaderboard import leaderboard

_SHOWN = 10
"""So many failures are told of on the terminal; the table has all."""

HELP = """tagma bench bench=NAME [settings]: every combination of a grid, several seeds each.

{grids}
  or a file of your own: tagma bench bench=my_grid.yaml

A setting that is an axis of the grid gets other values; any other holds for all cells:
  tagma bench quick                                       short for bench=quick
  tagma bench attacks 'attack=[alie,ipm]' seeds=3 rounds=10
  tagma bench attacks 'defence=[paper,tagma]' attack.fraction=0.1,0.2,0.3    a new axis
  tagma bench attacks "defence=[tagma,{{mine:['aggregation=krum','clustering=kmeans']}}]"

  seeds=5 or [7,8]             how many seeds, or which
  bench.workers=2            processes at a time (default: one per core)
  bench.timeout=600            seconds after which a cell is given up
  bench.runner=local           or ray: the cluster that RAY_ADDRESS names, or one of its own
  bench.folder=FOLDER          where results go (default: outputs/bench/NAME)
  bench.metric=misclustering   what the report ranks by (default: estimation_error)
  --dry-run                    say what would run, and check every setting

Finished cells are kept in the folder and never run again, whatever ends the program; failed ones
are tried again. Several processes, also on several computers, may share one folder. Writes
table.csv, timings.csv, rounds.csv, iterations.csv (each also as .parquet), bench.json and
report.html. The exit code is 0 only if every cell succeeded."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the cells that are missing, then write everything."""
    dry = "--dry-run" in arguments
    given = [text for text in arguments if text != "--dry-run"]
    plan = read_plan(name, given)
    combinations = plan.size // len(plan.seeds)
    notices.print(f"{plan.name}: checking {combinations} combinations ...", highlight=False)
    places = expand(plan)
    cells = {cell.key: cell for cell in _in_order(places)}
    if dry:
        say(f"{plan.title}: {len(places)} cells, {len(cells)} runs, in {plan.folder}")
        return
    kept = cells_folder(plan.folder, "bench.folder=")
    with CellProgress(plan.name) as progress:
        workers = _workers(plan, kept)
        ends = run_cells(list(cells.values()), kept, workers=workers, progress=progress)
    outcomes = dict(zip(cells, ends, strict=True))
    write_results(plan, places, outcomes, shlex.join(["tagma", "bench", f"bench={name}", *given]))
    report = write_bench_report(plan.folder)
    bench = read_bench(plan.folder)
    say("\n".join(terminal_lines(bench, leaderboard(bench))))
    say(f"report: {report}")
    _tell_failures(ends)


def _in_order(places: Sequence[Place]) -> list[GridCell]:
    """The work: seed by seed, so that the first results are of the whole grid."""
    seeds = list(dict.fromkeys(place.seed for place in places))
    by_seed = sorted(places, key=lambda place: seeds.index(place.seed))
    return [c for place in by_seed for c in (place.cell, place.reference) if c is not None]


def _workers(plan: Plan, folder: Path) -> Workers:
    if plan.runner == "ray":
        return RayWorkers(plan.workers, folder, plan.timeout)
    return LocalWorkers(plan.workers or os.cpu_count() or 1, folder, plan.timeout)


def _tell_failures(outcomes: Sequence[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if outcome.metrics is None]
    for outcome in failed[:_SHOWN]:
        warn(f"{outcome.cell.method}, seed {outcome.cell.trial}: {outcome.error}")
    if failed:
        raise TagmaError(
            f"{len(failed)} of {len(outcomes)} cells failed (table.csv has the reasons); "
            "the others are kept, and the same command tries these again"
        )
