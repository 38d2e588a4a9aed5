"""A run as the page needs it: typed values, before any thought of how they look.

What a run does not know is `None` or empty; a task need not know the truth. A number that is NaN or
infinite stays so: the run diverged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Point = tuple[float, float]
Curve = tuple[float, ...]
Reasons = dict[str, int]
ERROR, LOSS = "estimation_error", "loss"


@dataclass(frozen=True)
class RunScore:
    """One measure of how good the run is, beside that of the oracle, where it was run.

    In a curve NaN is a round in which nobody measured it; infinity one in which it had diverged.
    """

    name: str
    title: str
    better: str
    """low | high."""
    value: float | None
    curve: Curve | None
    oracle: float | None = None
    oracle_curve: Curve | None = None
    no_yardstick: str | None = None
    """Why the oracle's says nothing about this run's."""
    worst_decile: float | None = None
    """The mean over the worst tenth of the clients."""
    worst_curve: Curve | None = None
    best_curve: Curve | None = None
    """That of the worst and of the best tenth, where it is known who is honest."""

    @property
    def word(self) -> str:
        """What a sentence calls it."""
        return "error" if self.name == ERROR else self.title

    @property
    def points(self) -> int:
        """In how many rounds it was measured."""
        return sum(not math.isnan(value) for value in self.curve or ())


def are_groups(sizes: Sequence[int], clustered: bool) -> bool:
    """Whether models are of groups of clients: not one for all, nor each client's own.

    `clustered`: the algorithm looked for groups, whatever it found.
    """
    return clustered or (len(sizes) > 1 and max(sizes) > 1)


@dataclass(frozen=True)
class HowClustered:
    """How the clusters were found."""

    iterations: int | None
    stopped: str | None
    scale: float | None


@dataclass(frozen=True)
class Cluster:
    """One found cluster: a row of the cluster table."""

    size: int
    honest: int | None
    byzantine: int | None
    trimmed: int | None
    radius: float | None
    client_loss: float | None
    """The median of what its clients report."""
    loss_quartiles: tuple[float, float] | None = None
    error_bound: float | None = None
    """What the error should be below, in 95 of 100 cases."""
    excluded: int | None = None
    """Clients that failed the reply check."""
    suspect: str | None = None
    """Why its replies are not to be trusted."""
    stretched: bool = False
    """Its clients spread to some sides more than noise explains."""


MOST_SHOWN = 5000
"""Of more clients a page would take too long to open."""


@dataclass(frozen=True)
class ClientRow:
    """One row of `clusters.csv`; `place` is its vector in the picture's plane."""

    name: str
    assigned: int | None
    true: int | None
    byzantine: bool | None
    trimmed: bool
    quarantined: bool
    excluded: bool
    place: Point | None
    measured: Mapping[str, float] = field(default_factory=dict)
    """What it says of its model, by the score's name."""


@dataclass(frozen=True)
class ReplyCounts:
    """How many replies were used, and which were rejected for what, by reason and by client."""

    used: int | None
    kept: int
    """How often a cluster kept its model because too few of its clients replied."""
    reasons: Reasons
    clients: dict[str, Reasons]

    @property
    def rejected(self) -> int:
        """Rejected replies in all."""
        return sum(self.reasons.values())


@dataclass(frozen=True)
class Run:
    """Everything the page of one run shows."""

    folder: Path
    misclustering: float | None
    misclustering_curve: Curve | None
    scores: tuple[RunScore, ...]
    """Those that are known, the most telling one first."""
    oracle_without_byzantine: bool
    clusters: tuple[Cluster, ...]
    loss_curves: tuple[Curve, ...]
    """Of every cluster, round by round, the median loss of its clients; empty: not measured."""
    clustering: HowClustered | None
    """None for an algorithm that does not look for clusters of its own."""
    replies: ReplyCounts
    seconds: dict[str, float]
    facts: dict[str, str]
    bytes: dict[str, int]
    """Sent down to the clients, and up to the server."""
    warnings: tuple[str, ...]
    clients: tuple[ClientRow, ...]
    centres: tuple[Point, ...]
    rounds: tuple[dict[str, Any], ...]
    """The rows of `history.csv`."""
    choices: dict[str, Any]
    """What was run, by name."""
    environment: Mapping[str, str]
    """What it was made with, by name."""
    overrides: tuple[str, ...] | None
    config: str | None

    @property
    def shown(self) -> tuple[ClientRow, ...]:
        """The clients that are drawn and listed: of very many every so-many-th."""
        return self.clients[:: self.every]

    @property
    def every(self) -> int:
        """Every so-many-th client is shown."""
        return -(-len(self.clients) // MOST_SHOWN) or 1

    @property
    def truth_known(self) -> bool:
        """Whether anybody knows the true clusters, and with them who is Byzantine."""
        known = any(score.name == ERROR for score in self.scores)
        return known or self.misclustering is not None or self.honest is not None

    @property
    def group(self) -> str:
        """What the clients of one model are called."""
        return "cluster" if self.grouped else "model"

    @property
    def first_step(self) -> int:
        """The first place of a curve: 0, the warm start by the clusters' centres, or round 1."""
        return 1 if self.clustering is None else 0

    @property
    def grouped(self) -> bool:
        """Whether the algorithm puts clients into groups."""
        return are_groups([one.size for one in self.clusters], self.clustering is not None)

    @property
    def honest(self) -> int | None:
        """How many clients are honest, where every client's role is known."""
        roles = [client.byzantine for client in self.clients]
        return None if not roles or None in roles else roles.count(False)
