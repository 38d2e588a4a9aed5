"""Whom a rule leaves out in a round: clients that it gives less than half of their due weight.

Due is what a plain average, weighted as the rule was told to, would give them. A rule that states
no weights, such as a median of every coordinate, judges nobody, nor does one that gives everybody
what is due. Verdicts are for results alone: no algorithm looks at them, and replies that are only
tried out (`tagma.server.rehearsal`) leave no trace. O(m) beside the rule.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, Aggregator

_LEAST = 0.5
_ALIKE = 1e-6


@dataclass
class Verdicts:
    """What rules made of the replies of one round."""

    out: set[int] = field(default_factory=set)
    """Clients that were left out."""
    judged: bool = False
    """Whether some weight was another than is due, or a rule says whom it kept, and no more."""

    def add(self, clients: Labels, due: Array | None, found: Aggregate) -> None:
        """What a rule made of the replies of these clients."""
        weights = found.weights if found.weights is not None else found.kept
        if weights is None:
            return
        even = np.ones(len(clients)) if due is None else due
        share = weights / max(weights.sum(), np.finfo(float).tiny) * even.sum()
        uneven = bool((np.abs(share - even) > _ALIKE * even).any())
        self.judged |= uneven or found.weights is None
        self.out |= set(clients[share < _LEAST * even].tolist())

    def left_out(self, clients: Labels, counted: Mask) -> Mask:
        """Which of these are left out, by a rule or before any, as they do not count."""
        return ~counted | np.isin(clients, list(self.out))


_WATCH: ContextVar[Verdicts | None] = ContextVar("rule verdicts", default=None)


@contextmanager
def watching() -> Iterator[Verdicts]:
    """The verdicts of the rules that are applied meanwhile."""
    verdicts = Verdicts()
    token = _WATCH.set(verdicts)
    try:
        yield verdicts
    finally:
        _WATCH.reset(token)


def watched(aggregate: Aggregator) -> Aggregator:
    """The same rule; what it makes of clients is told to whoever watches."""

    @wraps(aggregate)
    def call(
        rows: Array, /, *, clients: Labels | None = None, weights: Array | None = None, **more: Any
    ) -> Aggregate:
        found = aggregate(rows, clients=clients, weights=weights, **more)
        if clients is not None and (verdicts := _WATCH.get()) is not None:
            verdicts.add(clients, weights, found)
        return found

    return call
