"""`tagma bench speed`: what a message costs on each engine.

Both engines run the same federation. A round's time is taken between the first instruction and the
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

_ABOUT = """Messages per second of the engines, in steady state.

Fails unless the inprocess engine is at least 15 times as fast as ray in the same run.
  tagma bench speed                       100 clients, 100 coefficients
  tagma bench speed task.dim=1000         any setting of `tagma run` can be changed"""

_REQUIRED = 15
_ROUNDS = {"inprocess": 60, "ray": 12}


def main(arguments: list[str]) -> None:
    """Measure both engines and compare."""
    given = CommandLine("bench speed", _ABOUT, overrides=True).read(arguments).overrides
    log_to_root("flwr")
    speeds = {engine: _messages_per_second(engine, given) for engine in _ROUNDS}
    ratio = speeds["inprocess"] / speeds["ray"]
    table = Table(title="Messages per second, steady state", title_justify="left")
    table.add_column("engine")
    table.add_column("messages/s", justify="right")
    table.add_column("times ray", justify="right")
    for engine, speed in speeds.items():
        table.add_row(engine, f"{speed:,.0f}", f"{speed / speeds['ray']:.1f}")
    console.print(table)
    if ratio < _REQUIRED:
        raise TagmaError(f"inprocess is only {ratio:.1f} times as fast as ray, not {_REQUIRED}")


def _messages_per_second(engine: str, overrides: list[str]) -> float:
    rounds = _ROUNDS[engine]
    settings = compose([f"rounds={rounds}", "evaluate=false", *overrides, f"engine={engine}"])
    check(settings)
    notices.print(f"{engine}: {settings.rounds} rounds ...", highlight=False)
    events = _run(settings)
    per_message = [event.seconds / event.used for event in events if event.work != "local_model"]
    return 1 / median(per_message)


def _run(settings: Settings) -> list[RoundFinished]:
    events: list[RoundFinished] = []
    with TemporaryDirectory() as folder, ProgressBar("rounds") as progress:

        def observe(event: RoundFinished) -> None:
            events.append(event)
            progress.round(event)

        build("engine", settings.choice("engine"))(settings, Path(folder), observe)
    return events
