"""`preset=tagma` on ordinary data, on arrays: what the tasks cannot express.

Clients may have unequal numbers of examples, noise that differs by cluster or has heavy tails,
features on different scales or correlated ones, and yes or no to predict; clusters may be many,
or as near to each other as is wanted. The algorithm is the real one; its error is that of the model
which the honest clients of the worst cluster receive, over that of the true clusters' own stage III
without Byzantine clients, by the same steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.special import expit

from tagma.arrays import Array, Labels, Mask
from tagma.client.solvers.closed_form import closed_form
from tagma.exchange import SMOOTHNESS, Replies
from tagma.server.results.cluster_scores import misclustering
from tagma.server.results.cluster_verdicts import misplaced, verdicts
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.step_size import step_of
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.tasks.smoothness import largest_eigenvalue
from tagma.tasks.task import Data

_NEWTON = 30
_BEND = 0.25
"""The largest second derivative of the logistic loss."""
_SERVED = 2.0
"""Times the error without Byzantine clients that nobody should get without a warning."""
_FEDERATIONS = 3


@dataclass(frozen=True)
class _Federation:
    """What the clients have, and what is true."""

    data: list[Data]
    labels: Labels
    centres: Array
    honest: Mask
    logistic: bool

    def slopes(self, client: int, model: Array) -> Array:
        data = self.data[client]
        scores: Array = data.inputs @ model
        return (expit(scores) if self.logistic else scores) - data.targets

    def gradient(self, client: int, model: Array) -> Array:
        data = self.data[client]
        gradient: Array = data.inputs.T @ self.slopes(client, model) / len(data.targets)
        return gradient

    def minimiser(self, client: int) -> Array:
        """Of the client's own loss; by Newton's method where it is logistic."""
        data = self.data[client]
        if not self.logistic:
            return closed_form(None, data, ridge="auto").model  # type: ignore[arg-type]
        model = np.zeros(data.inputs.shape[1])
        for _ in range(_NEWTON):
            gradient = self.gradient(client, model)
            share = expit(data.inputs @ model)
            bent = (data.inputs * (share * (1 - share))[:, None]).T @ data.inputs
            step = np.linalg.solve(bent / len(share) + 1e-9 * np.eye(len(model)), gradient)
            model = model - step * min(1.0, 10 / float(np.linalg.norm(step)))
            if np.linalg.norm(gradient) < 1e-10:
                break
        return model

    def local_models(self) -> Array:
        """Of all clients, shape (m, d)."""
        return np.array([self.minimiser(client) for client in range(len(self.data))])


def ordinary_trial(*, seed: int, rounds: int = 60, **federation: Any) -> dict[str, Any]:
    """One federation, as `_federation` describes it."""
    return _trial(_federation(np.random.default_rng([seed, 23]), **federation), rounds, seed)


def benign_trial(*, seed: int) -> dict[str, Any]:
    """Three federations without any Byzantine client, of whatever size, shape and noise."""
    found = [_trial(federation, 30, seed) for federation in benign_federations(seed)]
    columns = ("served over oracle", "honest left out", "warned", "unwarned", "withheld")
    return {
        **{column: [one[column] for one in found] for column in columns},
        "k right": [float(one["k"] == one["true k"]) for one in found],
        "warned for nothing": [
            one["warned"] * float(one["k"] == one["true k"] and one["misclustering"] == 0)
            for one in found
        ],
        "covered": [float(np.mean(one["covered"])) for one in found],
    }


def benign_federations(seed: int) -> Iterator[_Federation]:
    """Three without any Byzantine client, of whatever size, shape and noise."""
    for number in range(_FEDERATIONS):
        random = np.random.default_rng([seed, 24, number])
        clusters, dim = int(random.integers(1, 11)), int(random.integers(20, 121))
        yield _federation(
            random,
            dim=dim,
            clusters=clusters,
            clients=clusters * int(random.integers(10, 25)),
            samples=np.sort(random.integers(2 * dim, 5 * dim, size=2)).tolist(),
            noises=random.uniform(1, 3, size=clusters).tolist(),
            scales=(1, float(random.choice([1, 1, 10]))),
            tails=(None, None, 5.0)[random.integers(3)],
            correlation=float(random.choice([0, 0, 0.5])),
            uneven=True,
        )


def doubtful_models(seed: int) -> dict[str, Array]:
    """Local models of which a server should say that not all is well."""
    random = np.random.default_rng([seed, 25])
    near = _federation(random, dim=20, gap=4)
    plain = _federation(random)
    vectors = plain.local_models()
    noise = (vectors - plain.centres[plain.labels]).std()
    first = np.flatnonzero(plain.labels == 0)
    copied = np.repeat(vectors[:10], 4, axis=0)
    return {
        "near": near.local_models(),
        "three alike": np.delete(vectors, first[3:], axis=0),
        "copies": np.concatenate(
            [vectors, copied + 0.67 * noise * random.normal(size=copied.shape)]
        ),
    }


def _federation(
    random: np.random.Generator,
    *,
    dim: int = 100,
    clients: int = 100,
    clusters: int = 5,
    samples: Sequence[int] = (200, 200),
    noises: Sequence[float] = (2,),
    scales: Sequence[float] = (1, 1),
    tails: float | None = None,
    correlation: float = 0.0,
    gap: float | None = None,
    logistic: bool = False,
    uneven: bool = False,
    alpha: float = 0.0,
) -> _Federation:
    """`samples` and `scales` are ranges, `noises` one deviation per cluster or one for all.

    `tails` are degrees of freedom of Student's t, `correlation` is that of neighbouring features,
    `gap` the distance of any two centres in deviations of the entries of local models; `uneven`
    clusters have between one and three parts. Byzantine clients are the paper's.
    """
    centres = random.integers(0, 2, size=(clusters, dim)).astype(np.float64)
    if gap is not None:
        deviation = noises[0] / np.sqrt(samples[0] - dim - 1)
        sides = np.linalg.qr(random.normal(size=(dim, clusters)))[0].T
        centres = gap * deviation / np.sqrt(2) * sides
    parts = random.integers(1, 4, size=clusters) if uneven else np.ones(clusters, dtype=np.int64)
    labels = random.permutation(
        np.repeat(np.arange(clusters), parts)[np.arange(clients) % parts.sum()]
    )
    honest = random.permutation(clients) >= round(alpha * clients)
    units = random.permutation(np.geomspace(scales[0], scales[1], dim))
    data = []
    for client, label in enumerate(labels):
        count = int(random.integers(samples[0], samples[1] + 1))
        inputs = random.normal(size=(count, dim))
        if correlation:
            inputs[:, 1:] *= np.sqrt(1 - correlation**2)
            inputs = lfilter([1.0], [1.0, -correlation], inputs, axis=1)
        inputs = units * inputs
        noise = random.normal(size=count)
        if tails is not None:
            noise = random.standard_t(tails, size=count) * np.sqrt((tails - 2) / tails)
        own = centres[label] if honest[client] else 3.0 * random.integers(0, 2, size=dim)
        scores = inputs @ own
        targets = scores + noises[label % len(noises)] * noise
        if logistic:
            targets = (random.random(count) < expit(scores)).astype(np.float64)
        data.append(Data(inputs, targets))
    return _Federation(data, labels, centres, honest, logistic)


def _trial(federation: _Federation, rounds: int, seed: int) -> dict[str, Any]:
    data, labels, centres, honest = (
        federation.data, federation.labels, federation.centres, federation.honest,
    )  # fmt: skip
    local_models = federation.local_models()
    bend = _BEND if federation.logistic else 1.0
    steep = bend * np.array([largest_eigenvalue(each.inputs) for each in data])
    found = _run(federation, local_models, steep, rounds, seed)
    errors = np.linalg.norm(found.models[found.labels] - centres[labels], axis=1)
    worst = [honest & (labels == k) for k in range(len(centres))]
    oracle = max(
        float(
            np.linalg.norm(
                _oracle(federation, local_models, steep, np.flatnonzero(rows), rounds) - c
            )
        )
        for rows, c in zip(worst, centres, strict=True)
    )
    said = verdicts(found, [None] * found.clustering.k)
    bounds = [row["error_bound"] for row in said]
    covered = []
    for k, bound in enumerate(bounds):
        own = labels[honest & found.standing.counts & (found.labels == k)]
        if bound is not None and len(own):
            true = centres[np.bincount(own).argmax()]
            away = np.linalg.norm(found.models[k] - true) / np.sqrt(len(true))
            covered.append(float(away <= bound))
    served = max(float(errors[rows].mean()) for rows in worst) / oracle
    doubted = found.contradiction is not None or bool(misplaced(found))
    warned = doubted or any(row["suspect"] for row in said)
    return {
        "served over oracle": served,
        "k": found.clustering.k,
        "true k": len(centres),
        "misclustering": misclustering(found.labels[honest], labels[honest]),
        "honest left out": float(np.mean(~found.standing.counts[honest])),
        "covered": covered or [1.0],
        "withheld": float(np.mean([bound is None for bound in bounds])),
        "warned": float(warned),
        "unwarned": float(served > _SERVED and not warned),
    }


def _run(
    federation: _Federation, local_models: Array, steep: Array, rounds: int, seed: int
) -> Clustered:
    m, d = local_models.shape
    settings = ("preset=tagma", "attack=none", f"task.clients={m}", f"task.dim={d}", f"seed={seed}")
    algorithm = algorithm_of(compose(settings))
    clients, vectors = np.arange(m), local_models
    examples = np.array([len(each.targets) for each in federation.data])
    state = algorithm.start(np.zeros(d))
    for number in range(1, rounds + 2):
        request = algorithm.ask(state, number, clients)
        if number > 1:
            received = request.received(clients)
            vectors = np.array([federation.gradient(*each) for each in enumerate(received)])
        told = {SMOOTHNESS: steep} if SMOOTHNESS in request.expects else {}
        state = algorithm.learn(state, request, Replies(clients, vectors, examples, told))
    found = algorithm.findings(state)
    assert isinstance(found, Clustered)
    return found


def _oracle(
    federation: _Federation, local_models: Array, steep: Array, rows: Labels, rounds: int
) -> Array:
    """The cluster's model after so many rounds of the mean, weighted by examples."""
    weights = np.array([len(federation.data[row].targets) for row in rows], dtype=np.float64)
    weights /= weights.sum()
    model, step = weights @ local_models[rows], step_of(steep[rows].tolist())
    for _ in range(rounds):
        gradients = np.array([federation.gradient(row, model) for row in rows.tolist()])
        model = model - step * (weights @ gradients)
    found: Array = model
    return found
