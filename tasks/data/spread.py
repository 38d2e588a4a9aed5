"""How examples are spread over clients: what a task needs to know of it."""

from math import ceil
from typing import Annotated, Any, Protocol

from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from tagma.arrays import Labels

Pair = tuple[NDArray[Any], NDArray[Any]]
"""Inputs and targets."""
HeldOut = Annotated[int, Ge(1)] | Annotated[float, Gt(0), Lt(1)]
"""How many examples are for tests, or which share of them."""
UNKNOWN = -1
"""The cluster of a client where nobody knows of any."""


def how_many(held_out: HeldOut, there: int) -> int:
    """Of so many examples, those that are held out."""
    return held_out if isinstance(held_out, int) else ceil(held_out * there)


class Spread(Protocol):
    """Who trains on which examples, and is tested on which."""

    @property
    def count(self) -> int:
        """The number of clients."""

    @property
    def k(self) -> int:
        """The number of clusters; 1 where nobody knows of any."""

    @property
    def labels(self) -> Labels:
        """The cluster of every client, or `UNKNOWN`."""

    @property
    def notices(self) -> list[str]:
        """What a user should know."""

    def train(self, client: int) -> Pair:
        """What a client trains on."""

    def test(self, client: int) -> Pair:
        """What a client is tested on."""

    def tested_with(self, client: int) -> int | None:
        """A number that all have who are tested on the same; None: nobody else is."""

    def of_server(self, count: int) -> Pair:
        """Examples for the server."""
