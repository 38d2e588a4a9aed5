"""Every client with a file of its own: `task.data=parts/{client}.csv`, or a node's `data-path`.

A part of each file, drawn from the client's own random stream, is held out to test on. Nobody knows
of clusters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tagma.arrays import Labels
from tagma.errors import SettingError, TagmaError
from tagma.rng import stream
from tagma.tasks.data.examples import Examples
from tagma.tasks.data.spread import UNKNOWN, HeldOut, Pair, how_many

CLIENT = "{client}"


@dataclass(frozen=True, eq=False)
class OwnFiles:
    """As many files as clients; `read` reads one."""

    read: Callable[[str], Examples]
    path_of: Callable[[int], str]
    clients: int
    held_out: HeldOut
    seed: int

    @property
    def count(self) -> int:
        """The number of clients."""
        return self.clients

    @property
    def k(self) -> int:
        """Nobody knows of clusters."""
        return 1

    @property
    def notices(self) -> list[str]:
        """None."""
        return []

    @cached_property
    def labels(self) -> Labels:
        """Unknown."""
        return np.full(self.clients, UNKNOWN)

    def train(self, client: int) -> Pair:
        """What is not held out."""
        examples, order, count = self._parts(client)
        if count >= len(order):
            path, held_out = self.path_of(client), self.held_out
            raise TagmaError(
                f"{path}: client {client} has {len(order)} examples; task.held_out={held_out} "
                "leaves none to train on"
            )
        return examples.take(order[count:])

    def test(self, client: int) -> Pair:
        """The held-out part."""
        examples, order, count = self._parts(client)
        return examples.take(order[:count])

    def tested_with(self, client: int) -> None:
        """Nobody."""

    def of_server(self, count: int) -> Pair:
        """None."""
        raise SettingError("task.server_samples", count, "is not possible where clients have files")

    def _parts(self, client: int) -> tuple[Examples, Labels, int]:
        """The examples in a random order, of which the first so many are held out."""
        examples = self.read(self.path_of(client))
        if examples.held_out is not None:
            test = examples.held_out
            train = np.setdiff1d(np.arange(len(examples)), test)
            return examples, np.concatenate([test, train]), len(test)
        order = stream(self.seed, "held-out examples", client).permutation(len(examples))
        return examples, order, how_many(self.held_out, len(examples))
