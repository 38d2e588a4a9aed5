"""A run as the page needs it: typed values, before any thought of how they look.

What a run does not know is `None` or empty; a task need not know the truth. A number that is NaN or
infinite stays so: the run diverged.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Point = tuple[float, float]
Curve = tuple[float, ...]
Reasons = dict[str, int]


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


@dataclass(frozen=True)
class ClientRow:
    """One row of `clusters.csv`; `place` is its stage-I vector in the picture's plane."""

    name: str
    assigned: int | None
    true: int | None
    byzantine: bool | None
    trimmed: bool
    quarantined: bool
    excluded: bool
    place: Point | None


@dataclass(frozen=True)
class ReplyCounts:
    """How many replies were used, and which were rejected for what, by reason and by client."""

    used: int | None
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
    error: float | None
    error_curve: Curve | None
    oracle: float | None
    oracle_curve: Curve | None
    oracle_without_byzantine: bool
    no_yardstick: str | None
    """Why the oracle's error says nothing about this run's."""
    clusters: tuple[Cluster, ...]
    clustering: HowClustered
    replies: ReplyCounts
    seconds: dict[str, float]
    facts: dict[str, str]
    warnings: tuple[str, ...]
    clients: tuple[ClientRow, ...]
    centres: tuple[Point, ...]
    rounds: tuple[dict[str, Any], ...]
    """The rows of `history.csv`."""
    choices: dict[str, Any]
    """What was run, by name."""
    overrides: tuple[str, ...] | None
    config: str | None

    @property
    def truth_known(self) -> bool:
        """Whether anybody knows the true clusters, and with them who is Byzantine."""
        return self.misclustering is not None or self.error is not None or self.honest is not None

    @property
    def honest(self) -> int | None:
        """How many clients are honest, where every client's role is known."""
        roles = [client.byzantine for client in self.clients]
        return None if not roles or None in roles else roles.count(False)
