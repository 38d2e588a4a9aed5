"""What a running federation tells the outside, and how it travels between processes.

Progress bars, logs and trackers are observers of these events; the algorithm does not know them.
Where the server runs in another process, events are lines of its output.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

_MARK = "tagma-event "


@dataclass(frozen=True)
class RoundFinished:
    """One round is over; this is also a row of history.csv."""

    round: int
    rounds: int
    work: str
    scores: Mapping[str, float | None]
    """How good the federation is by every score there is; None: not known in this round."""
    used: int
    rejected: int
    kept: int
    """Models that stayed as they were because too few of their clients replied."""
    repeats: int
    """How often it was tried in vain before."""
    bytes_down: int
    bytes_up: int
    seconds: float
    true_positive: float | None = None
    """The share of the Byzantine clients that answered whose replies were left out."""
    false_positive: float | None = None
    """The same of the honest ones."""


Observer = Callable[[RoundFinished], None]


def both(first: Observer, second: Observer) -> Observer:
    """An observer that tells two others."""

    def observe(event: RoundFinished) -> None:
        first(event)
        second(event)

    return observe


def print_event(event: RoundFinished) -> None:
    """An observer that writes events to the standard output of the process."""
    print(f"{_MARK}{json.dumps(asdict(event))}\n", end="", flush=True)


def parse_event(line: str) -> RoundFinished | None:
    """The event that a line of a server's output is, if it is one.

    A line that only contains one is somebody else's, such as what a client says of its failure.
    """
    if not line.startswith(_MARK):
        return None
    try:
        return RoundFinished(**json.loads(line.removeprefix(_MARK)))
    except (ValueError, TypeError):
        return None
