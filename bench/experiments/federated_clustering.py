"""Federated clustering of Werner, He, Karimireddy, Jordan, Jaggi 2023, as in their simulation.

Every client has a model, x_i, and every client sends its gradient at every one of them: m^2
gradients in a round. x_i moves by a momentum of the centre that is found among the gradients at
x_i from i's own on: v <- the mean over j of g_j if it is nearer to v than the share `quantile` of
them, else of v. `strategy=threshold` is the cheaper form, with a gradient for each client.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagma.arrays import Array
from tagma.bench.experiments.array_federation import array_federation
from tagma.rng import stream

_MOMENTUM, _ITERATIONS = 0.9, 10


def federated_clustering_trial(
    *, overrides: Sequence[str], quantile: float, step: float, near_truth: bool,
    seed: int,
) -> dict[str, Any]:  # fmt: skip
    """The worst cluster's error of what honest clients have, over sqrt(d).

    Models start at zero or, `near_truth`, at the true ones with noise of 0.1.
    """
    federation = array_federation([*overrides, f"seed={seed}"])
    truth = federation.truth
    true = truth.known_centres()[truth.labels]
    models = np.zeros_like(true)
    if near_truth:
        centres = truth.known_centres()
        noise = 0.1 * stream(seed, "start near the truth").standard_normal(centres.shape)
        models = (centres + noise)[truth.labels]
    momenta = None
    for _ in range(federation.settings.rounds):
        gradients = np.einsum("jab,ib->ija", federation.hessians, models) - federation.targets
        found = centres_among(gradients, quantile)
        if momenta is None:
            momenta = found
        momenta = _MOMENTUM * momenta + (1 - _MOMENTUM) * found
        models = models - step * momenta
    away = np.linalg.norm(models - true, axis=1)
    honest = ~federation.byzantine
    means = [away[honest & (truth.labels == k)].mean() for k in range(truth.k)]
    return {"score": float(np.max(means)) / np.sqrt(true.shape[1])}


def centres_among(points: Array, quantile: float) -> Array:
    """The centre around points[i, i] among points[i], shape (m, d), for points (m, m, d)."""
    m = len(points)
    centres = points[np.arange(m), np.arange(m)]
    for _ in range(_ITERATIONS):
        away = np.linalg.norm(points - centres[:, None], axis=2)
        radius = np.partition(away, int(m * quantile), axis=1)[:, int(m * quantile), None]
        near = away < radius
        outside = 1 - near.mean(axis=1, keepdims=True)
        centres = (near[:, None] @ points)[:, 0] / m + outside * centres
    return centres
