"""Who holds which examples, trains on them and is tested on which, and in which cluster.

With planted clusters, by a view or by a column, everybody is tested on all held-out examples as its
cluster sees them. Where nobody knows of clusters, everybody is tested on held-out examples like its
own. A client's examples are copied when it takes them, not before: thousands of clients share one
array.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Labels
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.tasks.data.examples import Examples
from tagma.tasks.data.splits import Drawing, Pool, Skewed, SplitBy, drawn, shared_out
from tagma.tasks.data.spread import UNKNOWN, HeldOut, Pair, how_many
from tagma.tasks.data.views import ClustersBy, view_of
from tagma.tasks.roles import cluster_labels


@dataclass(frozen=True, eq=False)
class Holdings:
    """The examples of all clients; its settings are those of a task."""

    examples: Examples
    seed: int
    clients: int | None = None
    clusters: int | None = None
    clusters_by: ClustersBy = "none"
    sizes: Sequence[float] | None = None
    split: SplitBy = "iid"
    alpha: float = 0.5
    samples: int | tuple[int, int] | None = None
    held_out: HeldOut = 0.2
    client_column: str | None = None
    cluster_column: str | None = None

    def __post_init__(self) -> None:
        _check_columns(self)
        if len(self.train_rows) == 0 or len(self._test_rows) == 0:
            said = f"leaves {len(self.train_rows)} of {len(self.examples)} examples for training"
            raise SettingError("task.held_out", self.held_out, said)
        if self.split == "dirichlet" and not self.examples.classes:
            raise SettingError("task.split", self.split, "is for classifications")
        self._view  # noqa: B018  # whether there are such clusters
        if self.split == "column" and (without := self._without_examples) is not None:
            said = f"{without} has too few rows: none is left to train on"
            raise SettingError("task.client_column", self.client_column, said)
        if self._least_held == 0:
            raise SettingError(
                "task.clients", self.count,
                f"some client would have no example; there are {len(self.train_rows)} to train on",
            )  # fmt: skip

    @property
    def _without_examples(self) -> object | None:
        """The first client that trains on nothing, by its value of the column."""
        owners, names = self._owners
        held = np.bincount(owners[self.train_rows], minlength=len(names))
        return None if held.all() else names[int(held.argmin())]

    @property
    def _least_held(self) -> int:
        """The least number of examples that a client trains on."""
        if self.split == "column":
            owners = self._owners[0][self.train_rows]
            return int(np.bincount(owners, minlength=self.count).min())
        drawing = self._drawing
        if drawing.samples is not None:
            return drawing.samples[0]
        members = np.bincount(drawing.labels, minlength=self.k)
        pools = zip(drawing.pools, members.tolist(), strict=True)
        return min(len(pool.train) // max(1, count) for pool, count in pools)

    @cached_property
    def count(self) -> int:
        """The number of clients."""
        if self.split == "column":
            found = len(self._owners[1])
            if self.clients not in (None, found):
                raise SettingError(
                    "task.clients", self.clients,
                    f"the column {self.client_column} has {found} values; leave it null",
                )  # fmt: skip
            return found
        if self.clients is None:
            raise SettingError("task.clients", None, "must be a number, unless task.split=column")
        return self.clients

    @cached_property
    def k(self) -> int:
        """The number of clusters; 1 where nobody knows of any."""
        if self.clusters_by == "none":
            return 1
        found = self.clusters
        if self.clusters_by == "column":
            there = len(self._groups[1])
            if found not in (None, there):
                raise SettingError(
                    "task.clusters", found,
                    f"the column {self.cluster_column} has {there} values; leave it null",
                )  # fmt: skip
            return there
        if found is None:
            raise SettingError("task.clusters", None, f"must be a number with {self.clusters_by}")
        return found

    @cached_property
    def labels(self) -> Labels:
        """The cluster of every client; `UNKNOWN` for all where nobody knows of any."""
        if self.clusters_by == "none":
            return np.full(self.count, UNKNOWN)
        if self.clusters_by == "column" and self.split == "column":
            return _cluster_of_owners(self._owners, self._groups[0], self)
        if self.k > self.count:
            said = f"must not exceed task.clients={self.count}"
            raise SettingError("task.clusters", self.k, said)
        return cluster_labels(self.count, self.k, self.seed, self.sizes)

    @cached_property
    def notices(self) -> list[str]:
        """What a user should know."""
        if self.split == "iid" and self._shared_out is None:
            return [
                "task.split=iid: there are too few examples for each client to have its own; each "
                "draws on its own, and two may hold the same one"
            ]
        return []

    def train(self, client: int) -> Pair:
        """What a client trains on."""
        inputs, targets = self.examples.take(self._rows_of(client))
        return self._view(self._cluster_of(client), inputs, targets)

    def tested_with(self, client: int) -> int | None:
        """A number that all have who are tested on the same; None: nobody else is."""
        alone = self.clusters_by == "none" and self.split in ("dirichlet", "column")
        return None if alone else self._cluster_of(client)

    def test(self, client: int) -> Pair:
        """What a client is tested on."""
        if (cluster := self.tested_with(client)) is not None:
            return self._view(cluster, *self.examples.take(self._drawing.pools[cluster].test))
        if self.split == "dirichlet":
            return self.examples.take(self._skewed.test(client))
        own = self._test_rows[self._owners[0][self._test_rows] == client]
        return self.examples.take(own)

    def of_server(self, count: int) -> Pair:
        """Training examples for the server, as cluster 0 sees them."""
        rows = self._drawing.pools[0].train
        if count > len(rows):
            raise SettingError("task.server_samples", count, f"must be up to {len(rows)}")
        chosen = stream(self.seed, "server data").permutation(rows)[:count]
        return self._view(0, *self.examples.take(chosen))

    def _cluster_of(self, client: int) -> int:
        return max(0, int(self.labels[client]))

    def _rows_of(self, client: int) -> Labels:
        if self.split == "column":
            return self.train_rows[self._owners[0][self.train_rows] == client]
        if self.split == "dirichlet":
            return self._skewed.train(client)
        if self.split == "iid" and self._shared_out is not None:
            return self._shared_out(client)
        return drawn(self._drawing, client)

    @cached_property
    def _view(self) -> Any:
        return view_of(self.clusters_by, self.examples, self.k, self.seed)

    @cached_property
    def _order(self) -> Labels:
        """All examples at random; the first of them are held out, if nobody has said which."""
        return stream(self.seed, "held-out images").permutation(len(self.examples))

    @cached_property
    def _test_rows(self) -> Labels:
        if self.examples.held_out is not None:
            return self.examples.held_out
        if self.split != "column":
            return self._order[: self._how_many(len(self._order))]
        owners = self._owners[0][self._order]
        own = [self._order[owners == owner] for owner in range(len(self._owners[1]))]
        return np.concatenate([rows[: self._how_many(len(rows))] for rows in own])

    @cached_property
    def train_rows(self) -> Labels:
        """All that are not held out, at random."""
        test = np.zeros(len(self.examples), dtype=bool)
        test[self._test_rows] = True
        return self._order[~test[self._order]]

    def _how_many(self, there: int) -> int:
        return how_many(self.held_out, there)

    @cached_property
    def _drawing(self) -> Drawing:
        pools = [Pool(self.train_rows, self._test_rows)] * self.k
        if self.clusters_by == "column":
            groups = self._groups[0]
            pools = [
                Pool(*(rows[groups[rows] == k] for rows in (self.train_rows, self._test_rows)))
                for k in range(self.k)
            ]
        least = (self.samples, self.samples) if isinstance(self.samples, int) else self.samples
        labels = np.maximum(self.labels, 0)
        drawing = Drawing(self.seed, labels, pools, least)
        smallest = min(len(pool.train) for pool in pools)
        if least is not None and not 1 <= least[0] <= least[1] <= smallest:
            raise SettingError(
                "task.samples", self.samples,
                f"must be a number, or the least and the most, up to {smallest}: "
                f"task.held_out={self.held_out} leaves no more",
            )  # fmt: skip
        return drawing

    @cached_property
    def _shared_out(self) -> Any:
        return shared_out(self._drawing)

    @cached_property
    def _skewed(self) -> Skewed:
        targets, classes = self.examples.targets, len(self.examples.classes)
        return Skewed(self._drawing, targets, classes, self.alpha)

    @cached_property
    def _owners(self) -> tuple[Labels, NDArray[Any]]:
        """The client of every example, and the value that each client stands for."""
        assert self.client_column is not None
        return _numbered(self.examples.column(self.client_column, "task.client_column"))

    @cached_property
    def _groups(self) -> tuple[Labels, NDArray[Any]]:
        """The cluster of every example, and the value that each cluster stands for."""
        assert self.cluster_column is not None
        return _numbered(self.examples.column(self.cluster_column, "task.cluster_column"))


def _numbered(values: NDArray[Any]) -> tuple[Labels, NDArray[Any]]:
    names, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64), names


def _check_columns(holdings: Holdings) -> None:
    """The settings that say by which column, where one is needed, and nowhere else."""
    for name, needed, why in (
        ("client_column", holdings.split == "column", "task.split=column"),
        ("cluster_column", holdings.clusters_by == "column", "task.clusters_by=column"),
    ):
        value = getattr(holdings, name)
        if needed and value is None:
            raise SettingError(f"task.{name}", None, f"must name a column with {why}")
        if value is not None and not needed:
            raise SettingError(f"task.{name}", value, f"is used with {why} only")


def _cluster_of_owners(
    owners: tuple[Labels, NDArray[Any]], groups: Labels, holdings: Holdings
) -> Labels:
    """The cluster of every client, whose examples must all be of one."""
    found = np.empty(len(owners[1]), dtype=np.int64)
    for owner, name in enumerate(owners[1]):
        own = np.unique(groups[owners[0] == owner])
        if len(own) > 1:
            raise SettingError(
                "task.cluster_column", holdings.cluster_column,
                f"has several values for {holdings.client_column}={name}",
            )  # fmt: skip
        found[owner] = own[0]
    return found
