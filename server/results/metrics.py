"""The summary of a run that metrics.json holds."""

from collections import Counter
from statistics import median
from typing import Any

import numpy as np

from tagma import __version__
from tagma.server.results.cluster_verdicts import mostly_excluded, screened
from tagma.server.results.named_settings import name_of, named_settings
from tagma.server.results.participation import notices_of, participation_of
from tagma.server.results.recorder import Recorder
from tagma.server.screening_settings import notices_of_balls
from tagma.server.wiring import warnings_of
from tagma.settings import Settings

ORACLE = ("oracle_without_byzantine", "oracle_suspect", "oracle_error", "oracle_error_per_round")
"""What a run of the oracle fills in, after this one."""
_DIVERGED = "the models diverged: try a smaller optimiser.step"
_REMEDIES = {
    "restarts": "more clustering.restarts or clustering.extra_clusters=1",
    "random": "clustering.init=restarts or clustering.extra_clusters=1",
    "partial": "clustering.init=restarts",
}
"""What to try where Byzantine clients rule a cluster, by `clustering.init`; with extra clusters
they are expected to."""


def summarise(
    settings: Settings, recorder: Recorder, losses: dict[int, float], engine: str
) -> dict[str, Any]:
    """Everything there is to say about a finished run; what the task cannot know is None."""
    state = recorder.state
    assert state is not None
    errors = [event.estimation_error for event in recorder.events]
    known = recorder.truth is not None
    rejected: Counter[str] = sum(recorder.rejected.values(), Counter())
    clusters = recorder.clusters()
    if not known:  # then nobody knows who is honest, either
        clusters = [cluster | {"honest": None, "byzantine": None} for cluster in clusters]
    participation = participation_of(recorder)
    return {
        "misclustering": recorder.misclustering(),
        **recorder.clustering_scores(),
        "estimation_error": errors[-1] if known else None,
        "estimation_error_per_round": errors if known else None,
        **dict.fromkeys(ORACLE),
        **_client_loss(recorder, losses),
        "clusters": clusters,
        "screening": screened(state),
        "clustering": {
            "name": name_of("clustering", settings.choice("clustering")),
            "iterations": state.clustering.iterations,
            "stopped": state.clustering.stopped,
            "scale": state.clustering.scale,
        },
        "replies": {
            "used": sum(event.used for event in recorder.events),
            "rejected": dict(sorted(rejected.items())),
            "rejected_clients": {
                "unknown" if client is None else str(client): dict(sorted(reasons.items()))
                for client, reasons in sorted(
                    recorder.rejected.items(), key=lambda item: (item[0] is None, item[0] or 0)
                )
            },
        },
        "participation": participation,
        "seconds": recorder.seconds | {"total": sum(recorder.seconds.values())},
        "messages": recorder.messages,
        "warnings": [
            *warnings_of(settings),
            *_cluster_warnings(settings, clusters),
            *notices_of_balls(settings, state),
            *mostly_excluded(state),
            *notices_of(participation),
            *([_DIVERGED] if known and errors[-1] is None else []),
        ],
        "settings": named_settings(settings),
        "seed": settings.seed,
        "engine": engine,
        "version": __version__,
    }


def _cluster_warnings(settings: Settings, clusters: list[dict[str, Any]]) -> list[str]:
    """The clusters that have gone wrong, as can be seen without the truth, and what may help."""
    found = [
        f"cluster {number} is suspect: {cluster['suspect']}; do not trust its model"
        for number, cluster in enumerate(clusters)
        if cluster["suspect"]
    ]
    group = settings.choice("clustering")
    remedy = None if group.get("extra_clusters") else _REMEDIES.get(str(group.get("init")))
    advice = f"; try {remedy}" if remedy else ""
    return found + [
        f"cluster {number} has no client within its ball: its majority may be Byzantine{advice}"
        for number, cluster in enumerate(clusters)
        if cluster["size"] and cluster["trimmed"] == cluster["size"]
    ]


def _client_loss(recorder: Recorder, losses: dict[int, float]) -> dict[str, Any]:
    """Per cluster, median and quartiles of what its clients report; few can move the median far."""
    assert recorder.state is not None
    names = ("client_loss", "client_loss_quartiles")
    if not losses:
        return dict.fromkeys(names)
    by_cluster: list[list[float]] = [[] for _ in recorder.state.models]
    for client, loss in losses.items():
        cluster = recorder.state.cluster_of(client)
        if cluster is not None:
            by_cluster[cluster].append(loss)
    # Quartiles are losses of clients, not between two: these may be near the largest number.
    ends = [
        np.quantile(own, [0.25, 0.75], method="inverted_cdf").tolist() if own else None
        for own in by_cluster
    ]
    values = ([median(own) if own else None for own in by_cluster], ends)
    return dict(zip(names, values, strict=True))
