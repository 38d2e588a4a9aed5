"""Threshold clustering with momentum (Werner, He, Karimireddy, Jordan, Jaggi, 2023).

Every client has a model of its own, x_i, and a momentum of its updates there,

    m_i <- momentum * m_i + (1 - momentum) * update_i,

which the server keeps, so that clients need no memory. An update is a gradient, or the way from the
trained model back to the one that was received. x_i moves by an estimate of what the clients like i
want: from v = m_i on, `iterations` times,

    v <- 1/r sum_j (m_j if ||m_j - v|| <= radius, else v)

over the r clients that answered. The radius is the `quantile` of the distances from v, so that this
share of the clients counts, the client itself among them at first. Who is farther away, honest or
not, changes nothing. The quantile must not exceed the share of the honest clients of the smallest
cluster, else strangers are averaged in; a smaller one leaves more noise. A client's own momentum
keeps about (1 - quantile)^iterations of the weight: with few iterations everybody learns alone.

All start at the initial model, and so do those who come later. There are no clusters to be found:
models of similar clients stay near each other, not equal. A single reply moves nobody but its own
client by more than the radius allows.

Holds 2 m d numbers. A round costs m^2 d for the distances and the estimates, however many
iterations: the v are averages of the momenta, and are sought as rows of weights, m^3 for each.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from tagma.arrays import Array, Labels
from tagma.counts import ceil_of
from tagma.exchange import NO_MODEL, Replies, Request, rows_of
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.server_step import ServerStep
from tagma.strategies.numerics.gram_matrix import Geometry
from tagma.strategies.numerics.nearest_rows import nearest_of_each
from tagma.strategies.numerics.row_blocks import Rows


@dataclass(frozen=True)
class Momenta:
    """One model and one momentum per client that ever answered."""

    initial: Array
    clients: Labels
    """In ascending order, shape (m,)."""
    models: Array
    """Shape (m, d)."""
    momenta: Array
    """Shape (m, d)."""


class Threshold(AlgorithmBase[Momenta]):
    """As many models as clients, each moved by those whose momenta are near."""

    def __init__(
        self,
        *,
        optimiser: ServerStep,
        momentum: Annotated[float, Ge(0), Lt(1)] = 0.5,
        quantile: Annotated[float, Gt(0), Le(1)] = 0.2,
        iterations: Annotated[int, Ge(1)] = 20,
    ) -> None:
        self._step = optimiser
        self._momentum, self._quantile, self._iterations = momentum, quantile, iterations

    def start(self, initial: Array) -> Momenta:
        """Nobody has a model of its own yet."""
        nobody = initial[None][:0]
        return Momenta(initial, np.empty(0, dtype=np.int64), nobody, nobody)

    def ask(self, state: Momenta, round_number: int, clients: Labels) -> Request:
        """An update of everybody's own model; of the initial one from who has none."""
        models, which = self.serve(state, clients)
        if (which == NO_MODEL).any():
            which = np.where(which == NO_MODEL, len(models), which)
            models = np.concatenate([models, state.initial[None]])
        return self._step.request(clients, models, which)

    def serve(self, state: Momenta, clients: Labels) -> tuple[Array, Labels]:
        """To everybody its own."""
        return state.models, rows_of(clients, state.clients, np.arange(len(state.clients)))

    def learn(self, state: Momenta, request: Request, replies: Replies) -> Momenta:
        """Who answered moves by the momenta around its own."""
        received = request.received(replies.clients)
        momenta = self._step.directions(received, replies.vectors)
        state, rows = _with_rows(state, replies.clients, momenta)
        momenta = self._momentum * state.momenta[rows] + (1 - self._momentum) * momenta
        estimates = threshold_means(momenta, self._quantile, self._iterations)
        # From directions back to what the step takes: it is its own inverse.
        wanted = self._step.directions(received, estimates)
        moved = [
            self._step(model, one, replies.told_by(row))
            for row, (model, one) in enumerate(zip(received, wanted, strict=True))
        ]
        models, kept = state.models.copy(), state.momenta.copy()
        models[rows], kept[rows] = moved, momenta
        return replace(state, models=models, momenta=kept)


def threshold_means(points: Array, quantile: float, iterations: int) -> Array:
    """The threshold-clipped mean around every point, shape (m, d); see the module."""
    m = len(points)
    geometry, weights = Geometry(Rows(points)), np.eye(m)
    for _ in range(iterations):
        near = nearest_of_each(geometry.squared_distances(weights), ceil_of(quantile, m))
        outside = 1 - near.sum(axis=1, keepdims=True) / m
        weights = near / m + outside * weights
    return weights.astype(points.dtype, copy=False) @ points


def _with_rows(state: Momenta, clients: Labels, momenta: Array) -> tuple[Momenta, Labels]:
    """The state with a row for each of these clients, and which; new ones begin with these."""
    new = ~np.isin(clients, state.clients)
    if new.any():
        everybody = np.concatenate([state.clients, clients[new]])
        order = everybody.argsort()
        begun = np.repeat(state.initial[None], int(new.sum()), axis=0)
        state = replace(
            state,
            clients=everybody[order],
            models=np.concatenate([state.models, begun])[order],
            momenta=np.concatenate([state.momenta, momenta[new]])[order],
        )
    return state, np.searchsorted(state.clients, clients)
