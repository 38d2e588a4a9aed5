"""The engine `vectorised`: all clients of a round at once, on arrays, in this process.

Algorithms, attacks, random streams, scores and results are those of the other engines, and so are
the numbers, to rounding. There are no messages, so nothing that is about messages can be tried.
"""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from tagma.client.stacked_clients import StackedClients
from tagma.launch.engines.array_rounds import ArrayRun
from tagma.launch.engines.small_arrays import quick_at_small_arrays
from tagma.server.federation import conduct
from tagma.server.results.events import Observer
from tagma.settings import Settings


def run(
    settings: Settings, folder: Path, observer: Observer, *, threads: Annotated[int, Ge(1)] = 1
) -> None:
    """Run the federation and leave its results in the folder."""
    with quick_at_small_arrays(threads):
        clients = StackedClients(settings)
        conduct(
            settings, folder, [observer], "vectorised", ArrayRun,
            lambda run, plan: run.play(clients, plan),
        )  # fmt: skip
