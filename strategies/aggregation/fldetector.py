"""FLDetector (Zhang et al., 2022): clients whose updates do not follow from their earlier ones."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.aggregation.aggregate import Aggregate, Memory, mean_of
from tagma.strategies.aggregation.client_history import (
    CLIENTS,
    joined,
    known_clients,
    remembered,
    rounds_of,
)
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.lbfgs_product import lbfgs_product
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms
from tagma.strategies.numerics.two_groups import upper_group

_UNKNOWN = -1.0
_STEP = 2
"""Aggregates that show a step and what it changed."""


@dataclass(frozen=True)
class _Past:
    """What is remembered of n clients."""

    rounds: int
    aggregates: Array
    """Of the last rounds, the newest last, shape (up to window + 1, d)."""
    clients: Labels
    updates: Array
    """The last of every client, shape (n, d)."""
    seen: Array
    """In which round that was, counted from 1, shape (n,)."""
    scores: Array
    """How odd each was when it was last asked, the newest last, -1 where unknown, (n, window)."""


@from_origin
@rule
def fldetector(
    updates: Rows,
    *,
    window: Annotated[int, Ge(1)] = 10,
    clients: Labels | None = None,
    weights: Array | None = None,
    memory: Memory | None = None,
) -> Aggregate:
    """The mean of the rows of clients that are not suspected.

    A client's update is predicted from its last one: g + H (w - w_last), with the Hessian H that
    L-BFGS finds in the last `window` aggregates. Its score is the mean of its last `window`
    distances from that, each as a share of the round's. Where the gap statistic says that the
    scores of all known clients, of `window` rounds each, are several groups, the greater of two is
    suspected and left out. Without `clients` there is no history, and this is the mean. Breakdown
    point: none in the first window + 2 rounds, nor against clients that lie in the same way all the
    time; made for steps of one size. Cost O(m d + window d), and d numbers kept per client.
    """
    m = len(updates)
    if clients is None:
        return mean_of(updates, np.arange(m), weights)
    past = _remembered(memory, updates, window)
    odd = _oddness(past, updates, clients)
    everyone, scores, places = joined(past.clients, past.scores + 1, clients)
    scores -= 1  # new clients have zeros before, unknown after
    known = odd >= 0
    scores[places[known]] = np.hstack([scores[places[known], 1:], odd[known, None]])
    suspected = _suspected(scores)[places]
    result = mean_of(updates, np.flatnonzero(~suspected), weights)
    _, last, _ = joined(past.clients, past.updates, clients)
    _, seen, _ = joined(past.clients, past.seen, clients)
    last[places], seen[places] = updates.dense(), past.rounds + 1
    aggregates = np.vstack([past.aggregates, result.estimate])[-(window + 1) :]
    kept = {
        "rounds": np.array([past.rounds + 1.0]), "aggregates": aggregates,
        CLIENTS: everyone.astype(np.float64), "updates": last, "seen": seen, "scores": scores,
    }  # fmt: skip
    return Aggregate(result.estimate, kept=result.kept, weights=result.weights, memory=kept)


def _remembered(memory: Memory | None, updates: Rows, window: int) -> _Past:
    d, dtype = updates.dim, updates.dtype
    clients = known_clients(memory)
    n = len(clients)
    if memory is None:
        empty = np.zeros((0, d), dtype)
        return _Past(0, empty, clients, empty, np.zeros(0), np.zeros((0, window)))
    return _Past(
        rounds=rounds_of(memory),
        aggregates=remembered(memory, "aggregates", (None, d)),
        clients=clients,
        updates=remembered(memory, "updates", (n, d)),
        seen=remembered(memory, "seen", (n,)),
        scores=remembered(memory, "scores", (n, window)),
    )


def _oddness(past: _Past, updates: Rows, clients: Labels) -> Array:
    """Distances from the predictions as shares of all, -1 where there is none, shape (m,)."""
    odd = np.full(len(clients), _UNKNOWN)
    count = len(past.aggregates)
    at = np.minimum(np.searchsorted(past.clients, clients), max(len(past.clients) - 1, 0))
    if count < _STEP or not len(past.clients):
        return odd
    age = past.rounds + 1 - past.seen[at]
    usable = np.flatnonzero((past.clients[at] == clients) & (age <= count))
    if not len(usable):
        return odd
    # A step of the model is an aggregate, up to a factor that the Hessian takes back.
    history = past.aggregates.astype(np.float64)
    steps, changes = history[:-1], np.diff(history, axis=0)
    for ago in np.unique(age[usable]).astype(int):
        own = usable[age[usable] == ago]
        moved = lbfgs_product(steps, changes, history[-ago:].sum(axis=0))
        apart = updates.take(own).dense() - (past.updates[at[own]] + moved)
        odd[own] = norms(Rows(apart))
    total = odd[usable].sum()
    odd[usable] = odd[usable] / total * len(usable) if total > 0 else 0
    return odd


def _suspected(scores: Array) -> Mask:
    """Those in the greater group of mean scores, of all that were scored in a whole window."""
    whole = np.flatnonzero((scores >= 0).all(axis=1))
    found = np.zeros(len(scores), dtype=bool)
    found[whole] = upper_group(scores[whole].mean(axis=1))
    return found
