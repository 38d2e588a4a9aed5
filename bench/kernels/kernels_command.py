"""`tagma bench kernels`: table, CSV, figure and gate."""

from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from tagma.bench.kernels.kernels_figure import draw
from tagma.bench.kernels.kernels_memory import peak_ratio
from tagma.bench.kernels.kernels_thresholds import CLUSTERING, MEMORY, missed
from tagma.bench.kernels.kernels_timing import Timing, compare, one_thread
from tagma.bench.kernels.kmeans_speed import Comparison, compare_clustering
from tagma.bench.kernels.rivals import OURS, PEERS, formulations
from tagma.errors import TagmaError
from tagma.escaping import TableWriter
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, notices, say

_ABOUT = """CPU time on one thread of our aggregation kernels, in times of X.mean(axis=0).

Beside them plain NumPy, Flower's, and byzfl and byzpy where they are installed; trimmed K-means
beside scikit-learn's K-means; peak memory on 2 GB of rows. Prints a table, writes kernels.csv, .svg
and .png. Fails when a threshold is missed; takes some twenty minutes with all peers installed:
  pip install --no-deps --target FOLDER byzfl==0.0.11 byzpy==0.1.4
  PYTHONPATH=FOLDER tagma bench kernels"""

_SHAPES = ((100, 100), (100, 10_000), (20, 1_000_000), (1000, 10_000), (100, 1_000_000))
_LARGE = 10_000_000
"""Columns for the peak memory."""


def main(arguments: list[str]) -> None:
    """Measure, print, write, and fail if a threshold is missed."""
    line = CommandLine("bench kernels", _ABOUT)
    shown = "(default: %(default)s)"
    line.add_argument("--repeats", type=at_least(1), default=11, help=f"turns of each {shown}")
    line.add_argument("--out", metavar="FOLDER", default="outputs/bench/kernels", help=shown)
    line.add_argument("--skip-memory", action="store_true", help="do not measure the peak memory")
    options = line.read(arguments)
    with one_thread():
        timings = [t for m, d in _SHAPES for t in _measure(m, d, options.repeats)]
        notices.print("trimmed K-means ...", highlight=False)
        clustering = compare_clustering(options.repeats)
    _print(timings)
    _tell(clustering)
    absent = absent_peers(timings)
    if absent:
        notices.print(f"not installed, so not compared with: {', '.join(absent)}", highlight=False)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(timings, folder / "kernels.csv")
    draw(timings, folder / "kernels")
    say(f"written: {folder}/kernels.csv, .svg, .png")
    problems = missed(timings)
    if clustering.ratio > CLUSTERING:
        took = f"{clustering.ratio:.1f} times scikit-learn's, not {CLUSTERING}"
        problems.append(f"trimmed K-means: {took}")
    if not options.skip_memory:
        notices.print("peak memory on 2 GB of rows ...", highlight=False)
        memory = peak_ratio(_LARGE)
        say(f"peak memory at 50 x {_LARGE:,}: {memory:.2f} times the input")
        if memory > MEMORY:
            problems.append(f"peak memory: {memory:.2f} times the input, not {MEMORY}")
    if problems:
        raise TagmaError("; ".join(problems))


def absent_peers(timings: Sequence[Timing]) -> list[str]:
    """The peers that could not be measured, because they are not installed."""
    measured = {timing.library.split()[0] for timing in timings}
    return [peer for peer in PEERS if peer not in measured]


def _tell(found: Comparison) -> None:
    say(
        f"trimmed K-means, 20 restarts: {found.seconds:.2f} s, {found.ratio:.1f} times "
        f"scikit-learn's; the best took {found.iterations} iterations, scikit-learn's "
        f"{found.their_iterations}"
    )


def _measure(m: int, d: int, repeats: int) -> list[Timing]:
    rows: Any = np.random.default_rng(0).standard_normal((m, d), dtype=np.float32)
    timings = []
    for statistic, by_library in formulations(m, d).items():
        measured = compare(by_library, rows, repeats)
        timings += [Timing(statistic, name, m, d, *own) for name, own in measured.items()]
        shown = ", ".join(f"{name} {own.ratio:.1f}" for name, own in measured.items())
        notices.print(f"{statistic} at {m} x {d}: {shown}", highlight=False)
    return timings


def _print(timings: Sequence[Timing]) -> None:
    caption = "CPU time in times of the mean, one thread, float32, by rows and columns"
    table = Table(title=caption, title_justify="left")
    for title in ("statistic", "library"):
        table.add_column(title, no_wrap=True)
    for m, d in _SHAPES:
        table.add_column(f"{m}\n{_short(d)}", justify="right", no_wrap=True)
    ratios = {(t.statistic, t.library, t.m, t.d): t.ratio for t in timings}
    for statistic, library in dict.fromkeys((t.statistic, t.library) for t in timings):
        cells = [ratios.get((statistic, library, m, d)) for m, d in _SHAPES]
        style = "bold" if library.startswith(OURS) else None
        shown = ["" if ratio is None else _three_digits(ratio) for ratio in cells]
        table.add_row(statistic, library, *shown, style=style)
    console.print(table)


def _three_digits(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def _short(number: int) -> str:
    """1k, 1M: what fits a terminal of 80 columns."""
    for unit, name in ((1_000_000, "M"), (1000, "k")):
        if number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


def _write_csv(timings: Sequence[Timing], path: Path) -> None:
    with path.open("w", newline="") as file:
        table = TableWriter(file, lineterminator="\r\n")
        table.row(field.name for field in fields(Timing))
        table.rows(astuple(timing) for timing in timings)
