"""`tagma bench`: grids and benchmarks by name."""

from collections.abc import Callable
from importlib import import_module

from tagma.bench.grid import grid_command as grid
from tagma.choices import choices
from tagma.errors import TagmaError
from tagma.launch.console import say

_BENCHES = {
    "kernels": (
        "kernels.kernels_command",
        "our aggregators beside NumPy, Flower, byzfl and byzpy: CPU time and peak memory *",
    ),
    "rules": (
        "kernels.rules_speed",
        "tagma.rules on tensors and state_dicts, beside arrays: CPU time *",
    ),
    "speed": (
        "speed.engine_speed",
        "updates per second of the engines, side by side *",
    ),
    "scale": ("scale.scale_command", "time and memory by clients, coefficients and clusters"),
    "edges": ("scale.edges", "what is lost behind edge aggregators, and by samples of clients"),
    "stage_two": (
        "scale.stage_two",
        "stage II beside scikit-learn's clusterings on the same points: CPU time *",
    ),
    "long_runs": ("speed.long_runs", "many rounds on arrays and with messages: CPU time *"),
    "training": ("speed.training_speed", "local training, together and one by one: CPU time *"),
    "workers": ("speed.worker_speed", "cells of a grid per second, with one worker and with two *"),
    "features": (
        "speed.feature_clusters_speed",
        "clusters of real points at the size of the paper's data: time and peak memory *",
    ),
    "adaptive": (
        "adaptive_search",
        "attacks with the worst parameters that a search finds, against one defence",
    ),
    "byzfl": ("speed.byzfl_speed", "cells of one global model per second, ours and byzfl's"),
    "agreement": (
        "kernels.byzfl_agreement",
        "byzfl's aggregators and attacks beside ours, on the same vectors *",
    ),
    "lbfgs": ("speed.lbfgs_speed", "SciPy's L-BFGS beside torch's, on the same gradients"),
    "threshold_graph": (
        "speed.threshold_graph_speed",
        "our threshold graph beside scikit-learn's: CPU time and peak memory",
    ),
    "fresh_memory": ("speed.fresh_memory", "what memory costs that has been free for a while"),
    "online_bias": (
        "experiments.online_bias",
        "how far one pass of solver=online is from the local minimiser",
    ),
}
"""Modules of this package with a `main`, imported only when they are asked for."""

_HELP = """tagma bench NAME [settings]

Grids of federations, with a report; each is a file of conf/bench:
{grids}

Benchmarks; one with a star has a threshold, and its exit code is 0 only if that is met:
{benches}

Each has --help."""


def main(arguments: list[str]) -> None:
    """Run the grid or the benchmark that is named."""
    if not arguments or arguments[0] in ("--help", "-h"):
        benches = "\n".join(f"  {name:16} {what}" for name, (_, what) in _BENCHES.items())
        say(_HELP.format(grids=grid.known_grids(), benches=benches))
        return
    name, rest = _name(arguments)
    if name in _BENCHES:
        command: Callable[[list[str]], None]
        command = import_module(f"tagma.bench.{_BENCHES[name][0]}").main
        command(rest)
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
