"""The summary of a run that metrics.json holds."""

from collections import Counter
from statistics import median
from typing import Any

from tagma import __version__
from tagma.server.results.cluster_verdicts import mostly_excluded, screened
from tagma.server.results.participation import notices_of, participation_of
from tagma.server.results.recorder import Recorder
from tagma.server.screening_settings import notices_of_balls
from tagma.server.wiring import warnings_of
from tagma.settings import Settings


def summarise(
    settings: Settings, recorder: Recorder, losses: dict[int, float], engine: str
) -> dict[str, Any]:
    """Everything there is to say about a finished run; what the task cannot know is None."""
    assert recorder.state is not None
    clustering = recorder.state.clustering
    scores = recorder.clustering_scores()
    errors = [event.estimation_error for event in recorder.events]
    known = recorder.truth is not None
    rejected: Counter[str] = sum(recorder.rejected.values(), Counter())
    return {
        "misclustering": recorder.misclustering(),
        **scores,
        "estimation_error": errors[-1] if known else None,
        "estimation_error_per_round": errors if known else None,
        "oracle_without_byzantine": None,
        "oracle_error": None,
        "oracle_error_per_round": None,
        "client_loss": _client_loss(recorder, losses),
        "clusters": recorder.clusters(),
        "screening": screened(recorder.state),
        "clustering": {
            "name": _name(settings, "clustering"),
            "iterations": clustering.iterations,
            "stopped": clustering.stopped,
            "scale": clustering.scale,
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
        "participation": participation_of(recorder),
        "seconds": recorder.seconds | {"total": sum(recorder.seconds.values())},
        "messages": recorder.messages,
        "warnings": warnings_of(settings) + _afterthoughts(settings, recorder),
        "seed": settings.seed,
        "engine": engine,
        "version": __version__,
    }


def _afterthoughts(settings: Settings, recorder: Recorder) -> list[str]:
    """What can be seen to have gone wrong, without knowing the truth."""
    clusters = recorder.clusters()
    found = [
        f"cluster {number} is suspect: {cluster['suspect']}; do not trust its model"
        for number, cluster in enumerate(clusters)
        if cluster["suspect"]
    ]
    found += [
        f"cluster {number} has no client within its ball: its majority may be Byzantine; try more "
        "clustering.restarts or clustering.extra_clusters=1"
        for number, cluster in enumerate(clusters)
        if cluster["size"] and cluster["trimmed"] == cluster["size"]
    ]
    assert recorder.state is not None
    found += notices_of_balls(settings, recorder.state)
    found += mostly_excluded(recorder.state)
    found += notices_of(participation_of(recorder))
    if recorder.truth is not None and recorder.events[-1].estimation_error is None:
        found.append("the models diverged: try a smaller optimiser.step")
    return found


def _name(settings: Settings, group: str) -> str:
    return str(settings.choice(group)["_target_"]).rpartition(".")[2]


def _client_loss(recorder: Recorder, losses: dict[int, float]) -> list[float | None] | None:
    """Per cluster, the median of the losses that its clients report, which few can move far."""
    assert recorder.state is not None
    if not losses:
        return None
    by_cluster: list[list[float]] = [[] for _ in recorder.state.models]
    for client, loss in losses.items():
        cluster = recorder.state.cluster_of(client)
        if cluster is not None:
            by_cluster[cluster].append(loss)
    return [median(group) if group else None for group in by_cluster]
