"""`tagma bench`: benchmarks by name."""

from collections.abc import Callable

from bench import attack_table, features, speed
from bench.kernels import command as kernels
from launch.console import say
from tagma.errors import TagmaError

_BENCHES: dict[str, Callable[[list[str]], None]] = {
    "attacks": attack_table.main,
    "speed": speed.main,
    "features": features.main,
    "kernels": kernels.main,
}

_HELP = """tagma bench NAME [overrides]

  attacks    the error of every attack against a federation without a defence, and with one
  features   clusters of real points at the size of the paper's data: time and peak memory
  kernels    our aggregators beside NumPy, Flower, byzfl and byzpy: CPU time and peak memory
  speed      messages per second of the inprocess engine, and how many times faster than ray it is

The exit code is 0 only if the benchmark's threshold is met. Each benchmark has --help."""


def main(arguments: list[str]) -> None:
    """Run the benchmark that is named."""
    if not arguments or arguments[0] in ("--help", "-h"):
        say(_HELP)
        return
    name, *rest = arguments
    if name not in _BENCHES:
        raise TagmaError(f"{name}: there is no such benchmark; known: {', '.join(_BENCHES)}")
    _BENCHES[name](rest)
