"""What an attack knows and may do, said by the attack itself and shown by `tagma list attacks`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ThreatModel:
    """The powers of a Byzantine client under one attack; its class enforces what it sees."""

    sees: Literal[
        "nothing", "the received model", "its own data", "its own updates", "every update and group"
    ]
    """Everything up to and including this. Who sees every update sees the models that clients
    received too, and with `optimise` tries its updates on the defence before sending them."""
    changes: Literal["nothing", "its data", "its updates", "its data and updates", "its replies"]
    """Updates are always vectors of numbers; a reply may be anything at all."""
    colludes: bool = False
    """Whether Byzantine clients act in concert."""

    def __str__(self) -> str:
        together = "; all of them in concert" if self.colludes else ""
        return f"sees {self.sees}, changes {self.changes}{together}"


class OutOfSight(AttributeError):
    """An attack asked for something that its clients cannot see."""
