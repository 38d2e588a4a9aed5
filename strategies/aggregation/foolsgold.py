"""FoolsGold (Fung et al., 2020): clients whose summed updates are too alike count less."""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.aggregate import Aggregate, Memory, reweighted
from tagma.strategies.aggregation.client_history import (
    CLIENTS,
    joined,
    known_clients,
    remembered,
)
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.numerics.cosines import cosines
from tagma.strategies.numerics.row_blocks import Rows

_SUMS = "sums"
_SAME = 1e-9
"""Cosines that differ from 1 by less are 1 but for rounding."""
_MOST = 0.99
"""The logit of 1 is infinite."""


@from_origin
@rule
def foolsgold(
    updates: Rows,
    *,
    confidence: Annotated[float, Gt(0)] = 1.0,
    clients: Labels | None = None,
    weights: Array | None = None,
    memory: Memory | None = None,
) -> Aggregate:
    """The mean of the rows, each weighted by how little its client is like another.

    Alike are clients by the cosine of the sums of all updates that they ever sent, which it
    remembers. A client less like others than the one that it is like is pardoned in proportion.
    Weights are the logits of the rest, times `confidence`, between 0 and 1; where all are 0, the
    estimate is 0. Without `clients` it knows this round only. Breakdown point: any number of sybils
    that send alike, but none against a single Byzantine client or several that differ; honest
    clients with the same data count as sybils. Cost O(m^2 d), and d numbers kept per client.
    """
    past, memory = _summed(updates, clients, memory)
    alike = cosines(past)
    np.fill_diagonal(alike, 0)
    trust = _logits(_pardoned(alike), confidence)
    kept = trust > 0
    if not kept.any():
        return Aggregate(np.zeros(updates.dim, updates.dtype), kept=kept, memory=memory)
    own = trust / trust.sum() if weights is None else reweighted(trust, weights)
    return Aggregate(updates.combine(own), kept=kept, weights=own, memory=memory)


def _summed(
    updates: Rows, clients: Labels | None, memory: Memory | None
) -> tuple[Rows, Memory | None]:
    """The sums of the clients' updates with these ones, and what to remember."""
    if clients is None:
        return updates, None
    known = known_clients(memory)
    before = np.zeros((0, updates.dim), updates.dtype)
    if memory is not None:
        before = remembered(memory, _SUMS, (len(known), updates.dim))
    everyone, sums, places = joined(known, before, clients)
    largest = np.finfo(sums.dtype).max
    with np.errstate(over="ignore"):
        sums[places] = np.clip(sums[places] + updates.dense(), -largest, largest)
    kept = {CLIENTS: everyone.astype(np.float64), _SUMS: sums}
    return Rows(sums, chosen=places), kept


def _pardoned(alike: Array) -> Array:
    """How much each is like another, at most, after pardoning; shape (m,)."""
    most = alike.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pardon = np.where(most[:, None] < most, most[:, None] / most, 1.0)
    found: Array = (alike * pardon).max(axis=1)
    return found


def _logits(alike: Array, confidence: float) -> Array:
    trust = np.clip(1 - alike, 0, 1)
    if not trust.max() > _SAME:
        return np.zeros_like(trust)
    trust = np.minimum(trust / trust.max(), _MOST)
    with np.errstate(divide="ignore"):
        return np.clip(confidence * (np.log(trust / (1 - trust)) + 0.5), 0, 1)
