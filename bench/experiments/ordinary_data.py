"""`preset=tagma` on data that are merely uneven, on arrays: what the tasks cannot express.

Clients may have unequal numbers of examples, noise that differs by cluster or has heavy tails, and
features on different scales. The algorithm is the real one; its error is that of the model which
the honest clients of the worst cluster receive, over that of the true clusters' own stage III
without Byzantine clients, by the same steps.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels
from tagma.client.solvers.closed_form import closed_form
from tagma.exchange import SMOOTHNESS, Replies
from tagma.server.results.cluster_verdicts import verdicts
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.step_size import step_of
from tagma.strategies.algorithms.three_stage import Clustered
from tagma.tasks.smoothness import largest_eigenvalue
from tagma.tasks.task import Data

_CLIENTS, _CLUSTERS = 100, 5


def ordinary_trial(
    *,
    seed: int,
    dim: int = 100,
    samples: Sequence[int] = (200, 200),
    noises: Sequence[float] = (2, 2, 2, 2, 2),
    scales: Sequence[float] = (1, 1),
    tails: float | None = None,
    alpha: float = 0.0,
    rounds: int = 60,
) -> dict[str, Any]:
    """One federation: `samples` and `scales` are ranges, `noises` one deviation per cluster.

    `tails` are degrees of freedom of Student's t. Byzantine clients are the paper's.
    """
    random = np.random.default_rng([seed, 23])
    centres = random.integers(0, 2, size=(_CLUSTERS, dim)).astype(np.float64)
    labels = random.permutation(np.arange(_CLIENTS) % _CLUSTERS)
    honest = random.permutation(_CLIENTS) >= round(alpha * _CLIENTS)
    units = random.permutation(np.geomspace(scales[0], scales[1], dim))
    data = []
    for client, label in enumerate(labels):
        count = int(random.integers(samples[0], samples[1] + 1))
        inputs = units * random.normal(size=(count, dim))
        noise = random.normal(size=count)
        if tails is not None:
            noise = random.standard_t(tails, size=count) * np.sqrt((tails - 2) / tails)
        own = centres[label] if honest[client] else 3.0 * random.integers(0, 2, size=dim)
        data.append(Data(inputs, inputs @ own + noises[label] * noise))
    local_models = np.array([_solve(each) for each in data])
    steep = np.array([largest_eigenvalue(each.inputs) for each in data])
    found = _run(data, local_models, steep, rounds, seed)
    errors = np.linalg.norm(found.models[found.labels] - centres[labels], axis=1)
    worst = [(honest & (labels == k)) for k in range(_CLUSTERS)]
    oracle = max(
        float(np.linalg.norm(_oracle(data, local_models, steep, np.flatnonzero(rows), rounds) - c))
        for rows, c in zip(worst, centres, strict=True)
    )
    bounds = [row["error_bound"] for row in verdicts(found, [None] * found.clustering.k)]
    away = np.linalg.norm(found.models[:, None] - centres, axis=2).min(axis=1) / np.sqrt(dim)
    covered = [float(e <= b) for e, b in zip(away, bounds, strict=True) if b is not None]
    return {
        "served over oracle": max(float(errors[rows].mean()) for rows in worst) / oracle,
        "k": found.clustering.k,
        "true k": _CLUSTERS,
        "honest left out": float(np.mean(~found.standing.counts[honest])),
        "covered": covered or [1.0],
        "suspect": any(row["suspect"] for row in verdicts(found, [None] * found.clustering.k)),
    }


def _solve(data: Data) -> Array:
    return closed_form(None, data, ridge="auto").model  # type: ignore[arg-type]


def _gradient(data: Data, model: Array) -> Array:
    gradient: Array = data.inputs.T @ (data.inputs @ model - data.targets) / len(data.targets)
    return gradient


def _run(data: list[Data], local_models: Array, steep: Array, rounds: int, seed: int) -> Clustered:
    m, d = local_models.shape
    settings = ("preset=tagma", "attack=none", f"task.clients={m}", f"task.dim={d}", f"seed={seed}")
    algorithm = algorithm_of(compose(settings))
    clients, vectors = np.arange(m), local_models
    examples = np.array([len(each.targets) for each in data])
    state = algorithm.start(np.zeros(d))
    for number in range(1, rounds + 2):
        request = algorithm.ask(state, number, clients)
        if number > 1:
            received = request.received(clients)
            vectors = np.array([_gradient(*each) for each in zip(data, received, strict=True)])
        told = {SMOOTHNESS: steep} if SMOOTHNESS in request.expects else {}
        state = algorithm.learn(state, request, Replies(clients, vectors, examples, told))
    found = algorithm.findings(state)
    assert isinstance(found, Clustered)
    return found


def _oracle(
    data: list[Data], local_models: Array, steep: Array, rows: Labels, rounds: int
) -> Array:
    """The cluster's model after so many rounds of the mean, weighted by examples."""
    weights = np.array([len(data[row].targets) for row in rows], dtype=np.float64)
    weights /= weights.sum()
    model, step = weights @ local_models[rows], step_of(steep[rows].tolist())
    for _ in range(rounds):
        model = model - step * (weights @ np.array([_gradient(data[row], model) for row in rows]))
    found: Array = model
    return found
