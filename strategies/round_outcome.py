"""What one round of any algorithm brought, as results, checkpoints and observers see it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import Replies


@dataclass
class Round:
    """What one round brought."""

    number: int
    work: str = ""
    state: Any = None
    """The algorithm's, after the round."""
    clients: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """All clients that are known, in ascending order, shape (m,)."""
    models: Array = field(default_factory=lambda: np.empty((0, 0)))
    """All models after the round, shape (K, d)."""
    which: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The model of every client, or `NO_MODEL`, shape (m,)."""
    replies: Replies | None = None
    """Those that were usable."""
    rejected: list[tuple[int | None, str]] = field(default_factory=list)
    """Client (None where its number is not known) and reason of every reply that was dropped."""
    joined: list[int] = field(default_factory=list)
    """Clients that came after round 1."""
    returned: list[int] = field(default_factory=list)
    """Clients that came back under another node id."""
    kept: list[int] = field(default_factory=list)
    """Models that stay as they are because too few of their clients replied."""
    repeats: int = 0
    """How often the round, or its evaluation, was tried in vain: too few clients answered."""
    unused: int = 0
    """Usable replies of these tries."""
    answered: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The clients whose replies were learnt from, shape (r,)."""
    left_out: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))
    """Those of them that the algorithm or its rule left out, shape (r,)."""
    judged: bool = False
    """Whether the rule told clients apart (`tagma.strategies.aggregation.rule_verdicts`)."""
    asked: int = 0
    """Messages for a place or an update whose answers, or their lack, are counted."""
    introduced: int = 0
    """Usable replies of clients that said who they are, before they were asked for an update."""
    sent: int = 0
    """All messages."""
    bytes_down: int = 0
    """Of the models that were sent."""
    bytes_up: int = 0
    """Of the vectors that came back and were usable."""
    bytes_received: int = 0
    """Of all replies, usable or not, where they are messages."""
    exchange_seconds: float = 0.0
    """Time between messages and their last reply."""
    aggregation_seconds: float = 0.0
    """Time for checking and learning."""
    evaluations: dict[int, dict[str, float]] = field(default_factory=dict)
    """What clients measured with their models after the round, if they were asked."""
    evaluations_asked: int = 0
    evaluations_rejected: list[tuple[int | None, str]] = field(default_factory=list)
    """As `rejected`."""
    evaluation_seconds: float = 0.0

    def let_go(self) -> None:
        """Forget the vectors that came: they take as much memory as those of the next round."""
        if self.replies is not None:
            nothing = self.replies.vectors[:, :0].copy()
            self.replies = replace(self.replies, vectors=nothing)
