"""`tagma bench features`: clusters of real points, at the size of Yahoo's Learning to Rank."""

import argparse
from dataclasses import asdict

from rich.table import Table

from tagma.bench.experiments.ranking_scale import run_scale
from tagma.bench.trial_options import at_least
from tagma.errors import TagmaError
from tagma.launch.console import console, notices, say

_HELP = """tagma bench features [--points N] [--features D] [--search]

Generates N x D points (103,174 x 595 by default), finds their clusters by the threshold graph, with
a given gamma or, with --search, the one that gives four clusters, and cuts them into clients.
Prints the time and the peak memory. Fails beyond 4 GB."""

_LIMIT = 4e9


def main(arguments: list[str]) -> None:
    """Measure and print."""
    if "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    parser = argparse.ArgumentParser(
        prog="tagma bench features", exit_on_error=False, add_help=False, allow_abbrev=False
    )
    parser.add_argument("--points", type=at_least(1), default=103_174)
    parser.add_argument("--features", type=at_least(1), default=595)
    parser.add_argument("--search", action="store_true")
    try:
        options, rest = parser.parse_known_args(arguments)
    except (argparse.ArgumentError, argparse.ArgumentTypeError) as error:
        raise TagmaError(str(error)) from None
    if rest:
        raise TagmaError(f"{rest[0]}: there is no such option; known: --points --features --search")
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
