"""What `preset=tagma` reaches, on arrays: clusters, errors and error bounds.

The algorithms are the real ones, built from settings; only messages are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from tagma.arrays import Array
from tagma.bench.experiments.array_federation import (
    ArrayFederation,
    array_federation,
    descend,
    pooled_error,
)
from tagma.server.results.cluster_scores import estimation_error, misclustering
from tagma.server.results.cluster_verdicts import verdicts
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.clustering import density, random_labels, trimmed_kmeans
from tagma.strategies.clustering.density.constants import DEFAULTS, Constants

TASK = (
    "task=mixture_regression", "task.dim=100", "attack=poisoned_regression",
    "solver=closed_form", "optimiser=gradient",
)  # fmt: skip
METHODS = {
    "tagma": ("preset=tagma", "optimiser.step=1"),
    "paper": ("preset=paper", "clustering.init=partial"),
    "oracle": ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean"),
}
"""Ours, the paper's with 60 % of the labels given, and the mean without Byzantine clients."""
_RESTARTS = 20
_TIMINGS = 5


def clustering_trial(*, overrides: Sequence[str], seed: int) -> dict[str, Any]:
    """Stage II of one federation, how far its clusters are apart, and CPU times.

    `gap` is the least distance of two true centres, in standard deviations of the entries of
    honest local models.
    """
    federation = array_federation([*TASK, *overrides, f"seed={seed}"])
    local_models, truth, honest = federation.local_models, federation.truth, ~federation.byzantine
    k = len(truth.known_centres())
    initial = random_labels(np.arange(len(local_models)), k=k, restarts=_RESTARTS, seed=seed)
    errors = (local_models - truth.known_centres()[truth.labels])[honest]
    deviation = float(np.sqrt((errors**2).mean()))
    ours, theirs = least_cpu(
        lambda: density(local_models),
        lambda: trimmed_kmeans(
            local_models, initial, k=k, iterations=20, fraction=0.35, radius=2.0
        ),
    )
    return score(federation, DEFAULTS) | {
        "seconds": ours,
        "seconds, trimmed K-means": theirs,
        "true k": k,
        "gap": float(pdist(truth.known_centres()).min() / deviation) if k > 1 else None,
    }


def score(federation: ArrayFederation, constants: Constants) -> dict[str, Any]:
    """How good the clusters are, and their error over that without Byzantine clients."""
    found = density(federation.local_models, constants=constants)
    honest, truth = ~federation.byzantine, federation.truth
    error = pooled_error(federation, found.labels, ~found.trimmed)
    return {
        "misclustering": misclustering(found.labels[honest], truth.labels[honest]),
        "k": found.k,
        "ratio": error / pooled_error(federation, truth.labels, honest),
    }


def estimation_trial(*, overrides: Sequence[str], rounds: int, seed: int) -> dict[str, Any]:
    """Stage III of one federation by all methods, and whether the error bounds of ours cover."""
    federation = array_federation([*TASK, *overrides, f"seed={seed}"])
    errors, covered = {}, []
    for method, own in METHODS.items():
        algorithm = algorithm_of(compose((*TASK, *own, *overrides, f"seed={seed}")))
        state = descend(algorithm, federation, rounds)
        errors[method] = estimation_error(state.models, federation.truth.known_centres())
        if method == "tagma":
            covered = _coverage(state, federation.truth.known_centres())
    return {
        **errors,
        "covered": [error <= bound for error, bound in covered],
        "bound over error": [bound / error for error, bound in covered],
    }


def imposter_trial(*, share: float, seed: int) -> dict[str, Any]:
    """Imposters that nothing gives away: honest programs on data with shifted coefficients.

    They are the given share of one cluster. The shift is the same for all, and half as long as the
    distance of a typical local model from its centre: too short for stage II to see two clusters.
    Their replies agree with what they claim.
    """
    federation = array_federation([*TASK, "attack=none", f"seed={seed}"])
    truth, local_models = federation.truth, federation.local_models
    members = np.flatnonzero(truth.labels == 0)
    byzantine = np.zeros(len(local_models), dtype=bool)
    byzantine[members[: round(share * len(members))]] = True
    scatter = np.median(np.linalg.norm(local_models[members] - truth.known_centres()[0], axis=1))
    shift = np.full(local_models.shape[1], 0.5 * scatter / np.sqrt(local_models.shape[1]))
    moved = replace(
        federation,
        local_models=local_models + byzantine[:, None] * shift,
        targets=federation.targets + byzantine[:, None] * (federation.hessians @ shift),
    )
    errors = {"oracle": pooled_error(federation, truth.labels, ~byzantine)}
    for method in ("tagma", "paper"):
        settings = compose((*TASK, "attack=none", *METHODS[method], f"seed={seed}"))
        state = descend(algorithm_of(settings), moved, 20)
        errors[method] = estimation_error(state.models, truth.known_centres())
    return errors


def least_cpu(*works: Callable[[], object]) -> list[float]:
    """The least CPU time of each, tried in turn, so that what else runs disturbs all alike."""
    least = [float("inf")] * len(works)
    for _ in range(_TIMINGS):
        for number, work in enumerate(works):
            started = process_time()
            work()
            least[number] = min(least[number], process_time() - started)
    return least


def _coverage(state: Clustered, centres: Array) -> list[tuple[float, float]]:
    """Error and bound of every cluster."""
    pairs = []
    for model, verdict in zip(
        state.models, verdicts(state, [None] * state.clustering.k), strict=True
    ):
        if verdict["error_bound"] is not None:
            error = np.linalg.norm(centres - model, axis=1).min() / np.sqrt(len(model))
            pairs.append((float(error), float(verdict["error_bound"])))
    return pairs
