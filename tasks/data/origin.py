"""Where a task's examples come from, and so how they are spread over clients.

One file or folder for all; a file for each client (`task.data=parts/{client}.csv`); a data set of
flwr-datasets with its partitioner; or nothing here, where nodes have their own `data-path`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tagma.arrays import Labels
from tagma.errors import SettingError
from tagma.tasks.data.examples import Examples
from tagma.tasks.data.holdings import Holdings
from tagma.tasks.data.hugging_face import PARTITION, partitions, rows_of_partitions
from tagma.tasks.data.own_files import CLIENT, OwnFiles
from tagma.tasks.data.preparation import Preparation
from tagma.tasks.data.spread import HeldOut, Spread
from tagma.tasks.models.model import Kind, Problem

KEY = "task.data"
Scaling = Literal["none", "standard", "unit"]
Classes = tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Origin:
    """What the settings say about it."""

    data: str | None
    read: Callable[[str, Classes], Examples]
    """Reads a file or folder; with classes, those that there may be."""
    read_partitions: Callable[[list[Any], Classes], Examples]
    seed: int
    kind: Kind = "classification"
    dataset: Mapping[str, Any] | None = None
    partitioner: Mapping[str, Any] | None = None
    classes: Sequence[str | int] | None = None
    inputs: tuple[int, ...] | None = None
    """The shape of an input, where there is none to look at."""
    scaling: Scaling = "none"
    features: tuple[str, ...] | None = None
    target: str | None = None
    """Columns, where the settings name them."""

    def spread(self, holding: Mapping[str, Any]) -> tuple[Spread, Preparation]:
        """Who holds what, by the settings of `Holdings`, and what is to be predicted from what."""
        self._check()
        if self.dataset is not None:
            return self._of_examples(*self._partitioned(holding))
        if self.data is not None and CLIENT not in self.data:
            return self._of_examples(self.read(self.data, self.known), holding)
        if self.kind == "classification" and self.classes is None:
            raise SettingError(
                "task.classes", None, "must name all classes, since a client may not have each"
            )
        clients, own = holding["clients"], self.data
        if clients is None:
            raise SettingError("task.clients", None, "must be a number")
        files = self.files(clients, holding["held_out"], own)
        if own is None and self.inputs is None:
            raise SettingError(
                KEY, None, "must be there; for nodes that have their own, set task.inputs"
            )
        if own is not None:
            first = self.read(files.path_of(0), self.known)
            return files, Preparation.of(first, self._problem(first.shape, self.known or ()))
        assert self.inputs is not None
        problem = self._problem(self.inputs, self.known or ())
        return files, Preparation.unseen(problem, self.known or (), self.features, self.target)

    def files(self, clients: int, held_out: HeldOut, path: str | None) -> OwnFiles:
        """A file for each client; `path` may have its number in it."""
        if self.scaling != "none":
            said = "needs all data in one place; scale the files, and set task.scaling=none"
            raise SettingError("task.scaling", self.scaling, said)

        def path_of(client: int) -> str:
            if path is None:
                raise SettingError(KEY, None, "there are no data here; nodes have their data-path")
            return path.replace(CLIENT, str(client))

        return OwnFiles(
            lambda own: self.read(own, self.known), path_of, clients, held_out, self.seed
        )

    @property
    def known(self) -> Classes:
        """The names of the classes, where they are given."""
        return None if self.classes is None else tuple(map(str, self.classes))

    def _check(self) -> None:
        if (self.dataset is None) != (self.partitioner is None):
            missing = "dataset" if self.dataset is None else "partitioner"
            raise SettingError(f"task.{missing}", None, "task.dataset goes with task.partitioner")
        if self.known is not None and len(set(self.known)) < len(self.known):
            raise SettingError("task.classes", self.classes, "names a class twice")

    def _partitioned(self, holding: Mapping[str, Any]) -> tuple[Examples, Mapping[str, Any]]:
        """The partitions are the clients."""
        parts = partitions(*(json.dumps(each) for each in (self.dataset, self.partitioner)))
        examples = self.read_partitions(parts, self.known)
        columns = {**examples.columns, PARTITION: rows_of_partitions(parts)}
        own = {"clients": None, "split": "column", "client_column": PARTITION, "samples": None}
        return replace(examples, columns=columns), {**holding, **own}

    def _of_examples(
        self, examples: Examples, holding: Mapping[str, Any]
    ) -> tuple[Spread, Preparation]:
        holdings = Holdings(examples, self.seed, **holding)
        if self.scaling != "none":
            examples = _scaled(examples, holdings.train_rows, self.scaling)
            holdings = replace(holdings, examples=examples)
        problem = self._problem(examples.shape, examples.classes)
        return holdings, Preparation.of(examples, problem)

    def _problem(self, shape: tuple[int, ...], classes: tuple[str, ...]) -> Problem:
        outputs = len(classes) if self.kind == "classification" else 1
        return Problem(shape, outputs, self.kind)


def _scaled(examples: Examples, rows: Labels, scaling: Scaling) -> Examples:
    """Every input of mean 0 and variance 1, or from 0 to 1, over these rows; else 0."""
    there = examples.inputs[rows].astype(np.float64)
    if scaling == "standard":
        offset, scale = there.mean(axis=0), there.std(axis=0)
    else:
        offset, scale = there.min(axis=0), np.ptp(there, axis=0)
    scale[np.ptp(there, axis=0) == 0] = 1.0
    return replace(examples, offset=offset, scale=scale)
