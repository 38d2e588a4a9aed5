"""`tagma bench speed`: what an update costs on each engine.

All engines run the same federation. A round's time is taken between the first instruction and the
last reply, plus checking and aggregation; the median over the rounds of stage III leaves out what
happens once, such as starting Ray or making the data.
"""

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.table import Table

from tagma.errors import TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices
from tagma.launch.progress_bar import ProgressBar
from tagma.launch.run import check, log_to_root
from tagma.plugins import build
from tagma.server.results.events import RoundFinished
from tagma.settings import Settings, compose

_ABOUT = """Updates of clients per second on the engines, in steady state.

Fails unless, in the same run, the engine inprocess is at least 15 times as fast as ray, and
vectorised at least twice as fast as inprocess.
  tagma bench speed                       100 clients, 100 coefficients
  tagma bench speed task.dim=1000         any setting of `tagma run` can be changed"""

_ROUNDS = {"vectorised": 200, "inprocess": 60, "ray": 12}
_REQUIRED = {("inprocess", "ray"): 15, ("vectorised", "inprocess"): 2}


def main(arguments: list[str]) -> None:
    """Measure all engines and compare."""
    given = CommandLine("bench speed", _ABOUT, overrides=True).read(arguments).overrides
    log_to_root("flwr")
    speeds = {engine: _updates_per_second(engine, given) for engine in _ROUNDS}
    table = Table(title="Updates per second, steady state", title_justify="left")
    table.add_column("engine")
    table.add_column("updates/s", justify="right")
    table.add_column("times ray", justify="right")
    for engine, speed in speeds.items():
        table.add_row(engine, f"{speed:,.0f}", f"{speed / speeds['ray']:.1f}")
    console.print(table)
    for (fast, slow), required in _REQUIRED.items():
        ratio = speeds[fast] / speeds[slow]
        if ratio < required:
            raise TagmaError(f"{fast} is only {ratio:.1f} times as fast as {slow}, not {required}")


def _updates_per_second(engine: str, overrides: list[str]) -> float:
    rounds = _ROUNDS[engine]
    settings = compose([f"rounds={rounds}", "evaluate=false", *overrides, f"engine={engine}"])
    check(settings)
    notices.print(f"{engine}: {settings.rounds} rounds ...", highlight=False)
    events = _run(settings)
    per_update = [event.seconds / event.used for event in events if event.work != "local_model"]
    return 1 / median(per_update)


def _run(settings: Settings) -> list[RoundFinished]:
    events: list[RoundFinished] = []
    with TemporaryDirectory() as folder, ProgressBar("rounds") as progress:

        def observe(event: RoundFinished) -> None:
            events.append(event)
            progress.round(event)

        build("engine", settings.choice("engine"))(settings, Path(folder), observe)
    return events
