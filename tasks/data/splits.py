"""Which examples each client trains and is tested on.

- `iid`: the clients of a cluster share its examples at random, nobody's are another's; where there
  are too few for that, each draws on its own.
- `drawn`: every client draws on its own, without repetition; two may hold the same example.
- `dirichlet`: every client has shares of the classes of its own, drawn from a Dirichlet
  distribution with the parameter alpha (small: a few classes each), and draws in these shares.
- `column`: the examples of a client are those with one value of a column, such as a hospital.

Everything but the first follows from the client's own random stream.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tagma.arrays import Array, Labels
from tagma.rng import stream

SplitBy = Literal["iid", "drawn", "dirichlet", "column"]


@dataclass(frozen=True)
class Pool:
    """The rows that clients draw from."""

    train: Labels
    test: Labels


@dataclass(frozen=True, eq=False)
class Drawing:
    """What the draws of all clients have in common."""

    seed: int
    labels: Labels
    """The cluster of every client, shape (m,)."""
    pools: list[Pool]
    """One for each cluster."""
    samples: tuple[int, int] | None
    """The least and most examples of a client; None: an equal share of what there is."""
    _orders: dict[int, Labels] = field(default_factory=dict)

    def pool(self, client: int) -> Pool:
        """That of the client's cluster."""
        return self.pools[self.labels[client]]

    def stream(self, client: int) -> tuple[np.random.Generator, int]:
        """The client's own random numbers, and how many examples it takes."""
        random = stream(self.seed, "data", client)
        if self.samples is None:
            return random, self._share(client)
        return random, int(random.integers(*self.samples, endpoint=True))

    def _share(self, client: int) -> int:
        members = np.flatnonzero(self.labels == self.labels[client])
        place, size = int(np.searchsorted(members, client)), len(self.pool(client).train)
        return size // len(members) + (place < size % len(members))

    def order(self, cluster: int) -> Labels:
        """The training rows of a cluster at random."""
        if cluster not in self._orders:
            random = stream(self.seed, "split", cluster)
            self._orders[cluster] = random.permutation(self.pools[cluster].train)
        return self._orders[cluster]


def drawn(drawing: Drawing, client: int) -> Labels:
    """Some of the pool."""
    random, count = drawing.stream(client)
    return random.permutation(drawing.pool(client).train)[:count]


def shared_out(drawing: Drawing) -> Callable[[int], Labels] | None:
    """Rows that no other client of the cluster has; None where there are too few."""
    counts = np.array([drawing.stream(client)[1] for client in range(len(drawing.labels))])
    starts = np.empty_like(counts)
    for cluster, pool in enumerate(drawing.pools):
        members = drawing.labels == cluster
        starts[members] = np.cumsum(counts[members]) - counts[members]
        if counts[members].sum() > len(pool.train):
            return None

    def rows(client: int) -> Labels:
        start = starts[client]
        return drawing.order(int(drawing.labels[client]))[start : start + counts[client]]

    return rows


@dataclass(frozen=True, eq=False)
class Skewed:
    """Draws in a client's own shares of the classes."""

    drawing: Drawing
    targets: Labels
    """The class of every row."""
    classes: int
    alpha: float

    def train(self, client: int) -> Labels:
        """Training rows."""
        random, count = self.drawing.stream(client)
        pool = self.drawing.pool(client).train
        return self._draw(pool, count, self._shares(client), random)

    def test(self, client: int) -> Labels:
        """As many held-out rows as these shares allow."""
        pool, shares = self.drawing.pool(client).test, self._shares(client)
        there = np.bincount(self.targets[pool], minlength=self.classes)
        wanted = shares * len(pool) >= 1
        most = int(np.min(there[wanted] / shares[wanted], initial=len(pool)))
        random = stream(self.drawing.seed, "test data", client)
        return self._draw(pool, max(1, most), shares, random)

    def _shares(self, client: int) -> Array:
        random = stream(self.drawing.seed, "shares of the classes", client)
        return random.dirichlet(np.full(self.classes, self.alpha))

    def _draw(self, pool: Labels, count: int, shares: Array, random: np.random.Generator) -> Labels:
        """So many rows; classes that run out leave their part to the others."""
        rows = random.permutation(pool)
        of_class = [rows[self.targets[rows] == k] for k in range(self.classes)]
        there = np.array([len(own) for own in of_class])
        taken = np.zeros(self.classes, dtype=np.int64)
        while (missing := min(count, int(there.sum())) - int(taken.sum())) > 0:
            left = np.where(there > taken, shares, 0)
            left = left / left.sum() if left.sum() > 0 else (there > taken) / (there > taken).sum()
            taken = np.minimum(there, taken + random.multinomial(missing, left))
        return np.concatenate([own[:n] for own, n in zip(of_class, taken.tolist(), strict=True)])
