"""A federation of least-squares clients as arrays: the same data, without messages.

A gradient is H_i w - b_i, so that a round of stage III costs one product per client, and an
experiment can run hundreds of federations. The algorithm that runs is the real one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.adversary import adversary_of
from tagma.client.local_client import Model, make_client
from tagma.errors import TagmaError
from tagma.exchange import FIT, Replies
from tagma.server.results.cluster_scores import estimation_error
from tagma.settings import Settings, compose
from tagma.strategies.algorithms.algorithm import Algorithm
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.tasks.task import LeastSquares, Truth, layout_of
from tagma.tasks.task_choice import task_of


@dataclass(frozen=True)
class ArrayFederation:
    """What m clients would send."""

    settings: Settings
    local_models: Array
    """Local models, shape (m, d)."""
    hessians: Array
    """X_i^T X_i / n, shape (m, d, d)."""
    targets: Array
    """X_i^T y_i / n, shape (m, d)."""
    truth: Truth
    byzantine: Mask

    def gradients(self, models: Array) -> Array:
        """The gradient of every client at its own model, both of shape (m, d)."""
        return np.einsum("mij,mj->mi", self.hessians, models) - self.targets


def array_federation(overrides: Sequence[str]) -> ArrayFederation:
    """The clients that the overrides describe; Byzantine clients may only change their data."""
    settings = compose(tuple(overrides))
    task, adversary = task_of(settings), adversary_of(settings)
    truth = task.truth()
    if truth is None or not isinstance(task, LeastSquares):
        raise TagmaError("task: an array federation needs least squares with known clusters")
    clients = []
    for number in range(task.clients):
        squad = adversary.squad_of(number)
        clients.append(make_client(settings, number, squad.local_in(1) if squad else None))
    nothing: Model = layout_of(task).vector(task.initial()), {}
    inputs = [client.data.inputs for client in clients]
    return ArrayFederation(
        settings=settings,
        local_models=np.array([client.answer(FIT, nothing, 1, {}).vector for client in clients]),
        hessians=np.array([x.T @ x / len(x) for x in inputs]),
        targets=np.array(
            [x.T @ client.data.targets / len(x) for x, client in zip(inputs, clients, strict=True)]
        ),
        truth=truth,
        byzantine=adversary.byzantine,
    )


def descend(
    algorithm: Algorithm[Any], federation: ArrayFederation, rounds: int, flipped: Mask | None = None
) -> Clustered:
    """What is known after so many rounds; `flipped` clients change the sign of their gradients."""
    m, d = federation.local_models.shape
    clients, examples = np.arange(m), np.zeros(m, dtype=np.int64)
    state = algorithm.start(np.zeros(d))
    vectors = federation.local_models
    for number in range(1, rounds + 2):
        request = algorithm.ask(state, number, clients)
        if number > 1:
            vectors = federation.gradients(request.received(clients))
            if flipped is not None:
                vectors[flipped] *= -1
        state = algorithm.learn(state, request, Replies(clients, vectors, examples))
    found = algorithm.findings(state)
    assert isinstance(found, Clustered)
    return found


def pooled_error(federation: ArrayFederation, labels: Labels, counts: Mask) -> float:
    """The estimation error of one least-squares fit per cluster to all data that count.

    It is where stage III with the mean ends: twenty rounds reach it to many digits.
    """
    models = [
        np.linalg.lstsq(federation.hessians[rows].sum(axis=0),
                        federation.targets[rows].sum(axis=0), rcond=None)[0]
        for k in np.unique(labels)
        if (rows := counts & (labels == k)).any()
    ]  # fmt: skip
    return estimation_error(np.array(models), federation.truth.known_centres())
