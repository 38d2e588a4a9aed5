"""What the server thinks of every cluster, without the truth: how wrong it may be, and why."""

from math import hypot, sqrt
from typing import Any

import numpy as np

from tagma.arrays import Mask
from tagma.server.results.participation import some_of
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.screening.error_bars import error_bound

_HELD = "its replies lead farther from its clients' local models than these explain"


def verdicts(state: Clustered, seen: list[str | None]) -> list[dict[str, Any]]:
    """Per cluster: a bound on its error, how many clients are excluded, and why it is suspect.

    The bound is in the units of the estimation error, ||w - w*|| / sqrt(d): that of the mean of the
    local models, and how far stage III went from it, at right angles. There is none where
    clients outside the ball take part, nor where there is no ball, as with K-means or where no
    group was found: who belongs to the cluster is then not known, and nobody can bound what a
    stranger does. Nor is there one for a suspect cluster, or for clients whose local models are all
    equal: copies tell nothing about noise. `seen` are suspicions from the replies of the last
    round; those of stage II come first.
    """
    standing, clustering = state.standing, state.clustering
    suspected = clustering.suspect or (None,) * clustering.k
    bounds = state.confinement
    nowhere = np.zeros(clustering.k, dtype=bool)
    border = nowhere if bounds is None else bounds.at_border
    torn = nowhere if bounds is None else bounds.torn
    rows = []
    for k in range(clustering.k):
        inside = state.labels == k
        counting = inside & standing.counts
        excluded = int((inside & standing.excluded).sum())
        reason = suspected[k] or seen[k]
        if excluded and not counting.any():
            reason = "the reply check excluded all its clients"
        bound = None
        ball = np.isfinite(clustering.radius[k]) and not state.trimmed[counting].any()
        stretched = bool(clustering.stretched and clustering.stretched[k])
        if torn[k]:
            reason = reason or _HELD
        if ball and not (reason or stretched or border[k] or state.contradiction):
            bound = _bound(state, k, counting)
        per_entry = bound / sqrt(state.local_models.shape[1]) if bound else None
        rows.append(
            {
                "error_bound": per_entry, "excluded": excluded, "suspect": reason,
                "stretched": stretched,
            }
        )  # fmt: skip
    return rows


def _bound(state: Clustered, k: int, counting: Mask) -> float | None:
    """Of the mean of the local models, and as much more as stage III went from there."""
    rows = state.local_models[counting]
    weights = None if state.weights is None else state.weights[counting]
    bound = error_bound(rows, weights=weights)
    if not bound:
        return None
    return hypot(bound, float(np.linalg.norm(state.models[k] - np.average(rows, 0, weights))))


def mostly_excluded(state: Clustered) -> list[str]:
    """A line for every cluster that lost most of its clients to the reply check, but not all.

    Such a cluster is not suspect for that: what is left of it passed the check.
    """
    standing = state.standing
    lines = []
    for k in range(state.clustering.k):
        inside = (state.labels == k) & ~standing.quarantined
        excluded = int((inside & standing.excluded).sum())
        left = int((inside & standing.counts).sum())
        if excluded > left > 0:
            lines.append(
                f"cluster {k}: the reply check excluded {excluded} of {excluded + left} clients; "
                f"its model is that of the other {left}"
            )
    return lines


def misplaced(state: Clustered) -> list[str]:
    """A line for all clients that may be another cluster's, and for each that may be a cluster."""
    clustering, lines = state.clustering, []
    first = state.clients[state.joined == 1]
    if state.second is not None:
        doubted = state.standing.counts & state.second.doubtful(state.models.shape[1])
        if doubted.any():
            lines.append(
                f"clients {some_of(state.clients[doubted].tolist())} may be in the wrong cluster: "
                "their noise explains two, and so do their replies"
            )
    if clustering.loose is not None:
        for group in range(int(clustering.loose.max(initial=-1)) + 1):
            lines.append(
                f"clients {some_of(first[clustering.loose == group].tolist())} lie near each other "
                "and in no cluster: they may be a cluster"
            )
    return lines


def screened(state: Clustered) -> dict[str, list[int]]:
    """The clients that do not count at the end, and those that were let go again."""
    standing, clients = state.standing, state.clients
    return {
        "quarantined": clients[standing.quarantined].tolist(),
        "excluded": clients[standing.excluded].tolist(),
        "readmitted": clients[(standing.evidence > 0) & ~standing.quarantined].tolist(),
    }
