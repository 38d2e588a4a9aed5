"""All clients of a task with their data, for computing everybody's answers at once.

One population serves all runs of its task in a process: cells of a grid that differ in attack or
defence only share its data and local models. Clients are kept in chunks, so that no array grows
with their number; data that do not fit into memory together are made anew for every round, test
examples of many clients whenever they are needed.
"""

import json
from collections.abc import Callable
from typing import cast

import numpy as np
import psutil

from tagma.arrays import Array
from tagma.client.stacked_examples import StackedExamples
from tagma.kept import kept
from tagma.settings import Settings
from tagma.tasks.stack import Stackable
from tagma.tasks.task import Data, Task
from tagma.tasks.task_choice import task_of

_CHUNK = 256 * 2**20
"""Bytes of examples that are stacked together."""
_LIMIT = 2**30
"""Bytes of examples up to which they, the test examples and what is computed from them are kept."""
_MOST = 8 * 2**30
"""Bytes of examples up to which they are kept alone, if that is no more than half of the memory."""
_LOOKED_AT = 16
"""Clients whose data are looked at to see how large they are."""


class Population:
    """The clients 0, ..., m - 1 of a task, honest as it made them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        some = range(0, task.clients, -(-task.clients // _LOOKED_AT))
        self._bytes = max(1, *(_nbytes(task.train(client)) for client in some))
        size = max(1, _CHUNK // self._bytes)
        self.chunks = [
            np.arange(first, min(first + size, task.clients))
            for first in range(0, task.clients, size)
        ]
        """The clients of every chunk."""
        whole = self._bytes * task.clients
        self.small = whole <= _LIMIT
        """Whether test examples are made once, and training examples may be held twice."""
        self.keeps = self.small or whole <= min(_MOST, psutil.virtual_memory().available // 2)
        """Whether training examples are made once."""
        self._examples: dict[int, StackedExamples] = {}
        self._tests: dict[int, Data] = {}
        self._local_models: dict[str, dict[int, Array]] = {}

    def examples(self, chunk: int) -> StackedExamples:
        """The training examples of a chunk, of a task that can be stacked."""
        found = self._examples.get(chunk)
        if found is None:
            data = [self.task.train(client) for client in self.chunks[chunk].tolist()]
            found = StackedExamples(cast(Stackable, self.task), data, twice=self.small)
            if self.keeps:
                self._examples[chunk] = found
        return found

    def local_models(self, solver: str, chunk: int, solve: Callable[[], Array]) -> Array:
        """The honest local models of a chunk by a solver, which is known by its settings."""
        known = self._local_models.setdefault(solver, {})
        if chunk not in known:
            known[chunk] = solve()
        return known[chunk]

    def test(self, client: int) -> Data:
        """The test examples of a client."""
        data = self._tests.get(client)
        if data is None:
            data = self.task.test(client)
            if self.small:
                self._tests[client] = data
        return data


def population_of(settings: Settings) -> Population:
    """The population of the settings' task; that of the last task is kept."""
    chosen = settings.choice("task"), settings.choice("model")
    text = json.dumps([*chosen, settings.seed, settings.device], default=str)
    kept = _kept(text)
    if not kept:
        kept.append(Population(task_of(settings)))
    return kept[0]


@kept(maxsize=1)
def _kept(task: str) -> list[Population]:
    """A place for one population."""
    return []


def _nbytes(data: Data) -> int:
    return int(data.inputs.nbytes + data.targets.nbytes)
