"""What stage II and the screening found, for algorithms that have them: the part of the summary."""

from typing import Any

import numpy as np

from tagma.exchange import FIT
from tagma.server.results.cluster_scores import (
    centre_error,
    clusterwise_misclustering,
    misclustering,
)
from tagma.server.results.cluster_verdicts import verdicts
from tagma.server.results.scores import Seen
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.round_outcome import Round
from tagma.strategies.screening.suspicion import suspicions

PER_ITERATION = (
    "misclustering_per_iteration",
    "clusterwise_misclustering_per_iteration",
    "trimmed_clusterwise_misclustering_per_iteration",
    "centre_error_per_iteration",
)


def clustering_scores(state: Clustered, seen: Seen) -> dict[str, list[float | None] | None]:
    """A_s, G_s, G_s^U and Lambda_s of the paper, before each iteration of stage II and after.

    None where the truth, or what the method did on its way, is not known.
    """
    if seen.truth is None or not seen.truth.knows_clusters:
        return dict.fromkeys(PER_ITERATION)
    clustering = state.clustering
    clients = state.clients[state.joined == 1]
    rows = np.flatnonzero(seen.honest(clients))
    true = seen.truth.labels[clients[rows]]
    found = clustering.history[:, rows]
    scores: list[list[float | None] | None] = [
        [misclustering(labels, true) for labels in found],
        [clusterwise_misclustering(labels, true) for labels in found],
        None,
        None,
    ]
    if clustering.trimmed_history is not None:
        trimmed = clustering.trimmed_history[:, rows]
        pairs = zip(found, trimmed, strict=True)
        scores[2] = [clusterwise_misclustering(labels, true, out) for labels, out in pairs]
    centres = seen.truth.centres
    if clustering.centre_history is not None and centres is not None:
        scores[3] = [centre_error(step, centres) for step in clustering.centre_history]
    return dict(zip(PER_ITERATION, scores, strict=True))


def cluster_findings(state: Clustered, last: Round, tolerance: float) -> list[dict[str, Any]]:
    """Balls, scatter, bounds and suspicions of every cluster.

    `tolerance` is the share of Byzantine clients in a cluster that the aggregation tolerates.
    """
    clustering = state.clustering
    scatter = clustering.scatter(state.local_models[state.joined == 1])
    judged = verdicts(state, _suspicions(state, last, tolerance))
    return [
        {
            "trimmed": int(state.trimmed[state.labels == k].sum()),
            "radius": _finite(clustering.radius[k]),
            "scatter": _finite(scatter[k]),
        }
        | judged[k]
        for k in range(clustering.k)
    ]


def _suspicions(state: Clustered, last: Round, tolerance: float) -> list[str | None]:
    """Why the replies of the last round make a cluster suspect; None for those that are not."""
    if last.work == FIT or last.replies is None:
        return [None] * state.clustering.k
    rows = np.searchsorted(state.clients, last.replies.clients)
    counts = state.standing.counts[rows]
    return suspicions(
        state.clustering,
        state.local_models[state.joined == 1],
        state.models,
        state.labels[rows[counts]],
        last.replies.vectors[counts],
        tolerance=tolerance,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
