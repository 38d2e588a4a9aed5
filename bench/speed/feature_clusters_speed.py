"""`tagma bench features`: clusters of real points, at the size of Yahoo's Learning to Rank."""

from dataclasses import asdict

from rich.table import Table

from tagma.bench.experiments.ranking_scale import run_scale
from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import console, notices

_ABOUT = """Clusters of generated points, at the size of the paper's data: time and peak memory.

The points are clustered by the threshold graph, with a given gamma or, with --search, the one that
gives four clusters, and cut into clients. Fails beyond 4 GB.
  tagma bench features
  tagma bench features --points 20000 --search"""

_LIMIT = 4e9


def main(arguments: list[str]) -> None:
    """Measure and print."""
    line = CommandLine("bench features", _ABOUT)
    shown = "(default: %(default)s)"
    line.add_argument("--points", type=at_least(1), default=103_174, help=f"how many {shown}")
    line.add_argument("--features", type=at_least(1), default=595, help=f"of each {shown}")
    line.add_argument("--search", action="store_true", help="for the gamma of four clusters")
    options = line.read(arguments)
    notices.print(f"{options.points:,} x {options.features} points; this takes minutes ...")
    size = (options.points, options.features)
    scale = run_scale(*size, gamma=None) if options.search else run_scale(*size)
    table = Table(title="Clusters of points", title_justify="left", show_header=False)
    for name, value in asdict(scale).items():
        table.add_row(
            name.replace("_", " "), f"{value:,.6g}" if isinstance(value, float) else str(value)
        )
    console.print(table)
    if scale.peak_bytes > _LIMIT:
        raise TagmaError(f"the peak memory was {scale.peak_bytes / 1e9:.1f} GB, beyond 4 GB")
