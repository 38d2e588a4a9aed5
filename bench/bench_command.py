"""`tagma bench`: grids and benchmarks by name."""

from collections.abc import Callable
from importlib import import_module

from tagma.bench.grid import grid_command as grid
from tagma.errors import TagmaError
from tagma.launch.console import say
from tagma.launch.listing import about
from tagma.settings import choices

_BENCHES = {
    "harm": "tagma.bench.harm",
    "speed": "tagma.bench.speed",
    "features": "tagma.bench.feature_clusters_bench",
    "kernels": "tagma.bench.kernels.kernels_command",
    "byzfl": "tagma.bench.byzfl_comparison",
    "workers": "tagma.bench.workers_speedup",
}
"""Modules with a `main`, imported only when they are asked for."""

_HELP = """tagma bench NAME [settings]

Grids of federations, with a report; each is a file of conf/bench:
{grids}

Benchmarks with a threshold; the exit code is 0 only if it is met:
  harm         the error of every attack against a federation without a defence, and with one
  features     clusters of real points at the size of the paper's data: time and peak memory
  kernels      our aggregators beside NumPy, Flower, byzfl and byzpy: CPU time and peak memory
  speed        messages per second of the inprocess engine, and how many times faster than ray it is
  byzfl        cells of one global model per second, ours and byzfl's (no threshold)
  workers      cells of a grid per second, with one worker and with two

Each has --help."""


def main(arguments: list[str]) -> None:
    """Run the grid or the benchmark that is named."""
    asked = "--help" in arguments or "-h" in arguments
    arguments = [text for text in arguments if text not in ("--help", "-h")]
    if not arguments:
        say(_HELP.format(grids=_grids()))
        return
    name, rest = _name(arguments)
    if name in _BENCHES:
        command: Callable[[list[str]], None] = import_module(_BENCHES[name]).main
        command([*rest, *(["--help"] if asked else [])])
    elif asked:
        say(grid.HELP.format(grids=_grids()))
    else:
        grid.main(name, rest)


def _name(arguments: list[str]) -> tuple[str, list[str]]:
    """What is to run, by a first word or by bench=NAME, and the other arguments."""
    first, *rest = arguments
    if "=" not in first and not first.startswith("-"):
        grids = choices("bench")
        if first in (*_BENCHES, *grids) or first.endswith((".yaml", ".yml")):
            return first, rest
        known = ", ".join((*grids, *_BENCHES))
        raise TagmaError(f"{first}: there is no such benchmark; known: {known}")
    named = [text for text in arguments if text.startswith("bench=")]
    if len(named) != 1:
        raise TagmaError(f"name one grid with bench=NAME; known: {', '.join(choices('bench'))}")
    return named[0].removeprefix("bench="), [text for text in arguments if text != named[0]]


def _grids() -> str:
    return "\n".join(f"  {name:12} {about('bench', name)}" for name in choices("bench"))
