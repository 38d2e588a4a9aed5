"""The summary of a run that metrics.json holds."""

from collections import Counter
from typing import Any

import numpy as np

from tagma import __version__
from tagma.exchange import CHOICE, NO_MODEL, PERSONALISED
from tagma.server.results.client_metrics import LOSS, summary_of_metrics
from tagma.server.results.cluster_verdicts import misplaced, mostly_excluded, screened
from tagma.server.results.clustering_record import (
    PER_ITERATION,
    cluster_findings,
    clustering_scores,
)
from tagma.server.results.detection import SHARES, detection
from tagma.server.results.named_settings import name_of, named_settings
from tagma.server.results.participation import notices_of, participation_of
from tagma.server.results.recorder import Recorder
from tagma.server.results.resolved_settings import resolved_settings
from tagma.server.results.run_environment import packages_of, run_environment
from tagma.server.results.scores import ERRORS, Seen
from tagma.server.screening_settings import (
    no_reply_check,
    notices_of_balls,
    without_useless_checks,
)
from tagma.server.wiring import tolerance_of, warnings_of
from tagma.settings import Settings
from tagma.strategies.algorithms.clustered_clients import Clustered

ORACLE = (
    "oracle_without_byzantine", "oracle_suspect", "oracle_scores", "oracle_error",
    "oracle_error_per_round",
)  # fmt: skip
"""What a run of the oracle fills in, after this one."""
NOBODY: dict[str, list[int]] = {"quarantined": [], "excluded": [], "readmitted": []}
UNKNOWN: dict[str, Any] = {
    "trimmed": 0, "radius": None, "scatter": None, "error_bound": None, "excluded": 0,
    "suspect": None, "stretched": False,
}  # fmt: skip
"""Of clusters that nobody has examined."""
_DIVERGED = "the models diverged: try a smaller optimiser.step"
_REMEDIES = {
    "restarts": "more clustering.restarts or clustering.extra_clusters=1",
    "random": "clustering.init=restarts or clustering.extra_clusters=1",
    "partial": "clustering.init=restarts",
}
"""What to try where Byzantine clients rule a cluster, by `clustering.init`; with extra clusters
they are expected to."""


def summarise(
    settings: Settings, recorder: Recorder, found: Clustered | None, engine: str
) -> dict[str, Any]:
    """Everything there is to say about a finished run; what the task cannot know is None.

    `found` is what the algorithm found out about clients and clusters, if it did.
    """
    assert recorder.last is not None
    seen, traffic = recorder.seen, recorder.traffic
    curves = {
        score.name: [event.scores[score.name] for event in recorder.events]
        for score in recorder.scores
    }
    measured = summary_of_metrics(seen, recorder.scores, curves)
    rejected: Counter[str] = sum(recorder.rejected.values(), Counter())
    clusters = _clusters(settings, recorder, found)
    screening = NOBODY if found is None else screened(found)
    participation = participation_of(recorder, screening["quarantined"])
    errors, served = (curves.get(name) for name in ERRORS)
    diverged = errors is not None and errors[-1] is None
    return {
        "misclustering": recorder.misclustering(),
        "ari": recorder.ari(),
        **(dict.fromkeys(PER_ITERATION) if found is None else clustering_scores(found, seen)),
        "estimation_error": errors[-1] if errors else None,
        "estimation_error_per_round": errors,
        "served_error": served[-1] if served else None,
        "served_error_per_round": served,
        "detection": _detection(settings, recorder, found),
        "attack_success": None,
        "accuracy": None,
        "personalised": {
            name.removeprefix(PERSONALISED): own for name, own in measured.items()
            if name.startswith(PERSONALISED)
        } or None,
        "using_another": _using_another(seen),
        **{name: own for name, own in measured.items() if not name.startswith(PERSONALISED)},
        "dropped_metrics": dict(sorted(recorder.dropped.items())),
        "scores": {
            score.name: {
                "title": score.title, "better": score.better, "value": curves[score.name][-1],
                "per_round": curves[score.name], "of": score.of,
            }
            for score in recorder.scores
        },
        **dict.fromkeys(ORACLE),
        **_client_loss(recorder),
        "clusters": clusters,
        "contradiction": None if found is None else found.contradiction,
        "screening": screening,
        "clustering": None if found is None else {
            "name": name_of("clustering", settings.choice("clustering"), settings.overrides),
            "iterations": found.clustering.iterations,
            "stopped": found.clustering.stopped,
            "scale": found.clustering.scale,
            "chosen": _chosen(found),
            "likeness": found.likeness,
            "noise": None if found.clustering.noise is None else found.clustering.noise.allowed(),
        },
        "replies": {
            "used": sum(event.used for event in recorder.events),
            "kept": sum(event.kept for event in recorder.events),
            "rejected": dict(sorted(rejected.items())),
            "rejected_clients": {
                "unknown" if client is None else str(client): dict(sorted(reasons.items()))
                for client, reasons in sorted(
                    recorder.rejected.items(), key=lambda item: (item[0] is None, item[0] or 0)
                )
            },
            "evaluations": {
                "asked": traffic.evaluations_asked,
                "used": traffic.evaluations_used,
                "rejected": dict(sorted(recorder.evaluations_rejected.items())),
            },
        },
        "participation": participation,
        "seconds": recorder.seconds | {"total": sum(recorder.seconds.values())},
        "messages": recorder.messages,
        "bytes": {
            "down": sum(event.bytes_down for event in recorder.events),
            "up": sum(event.bytes_up for event in recorder.events),
            "received": traffic.bytes or None,
        },
        "warnings": [
            *warnings_of(settings),
            *_cluster_warnings(settings, clusters),
            *([] if found is None or found.contradiction is None else [
                f"do not trust this run: {found.contradiction}, which cannot be while fewer than "
                "half of the clients are Byzantine; nobody is left out, and replies are aggregated "
                "by the trimmed mean"
            ]),
            *([] if found is None else notices_of_balls(settings, found)),
            *([] if found is None else misplaced(found)),
            *([] if found is None else mostly_excluded(found)),
            *notices_of(participation),
            *([_DIVERGED] if diverged else []),
        ],
        "settings": named_settings(settings),
        "resolved": resolved_settings(settings, recorder.last),
        "seed": settings.seed,
        "engine": engine,
        "version": __version__,
        "environment": run_environment() | packages_of(settings),
    }  # fmt: skip


def _chosen(found: Clustered) -> str | None:
    if not found.judged:
        return None
    if found.common is not None:
        return "both"
    return "one model" if found.single else "clusters"


def _using_another(seen: Seen) -> int | None:
    """How many clients use another model than that of their cluster; None where they may not."""
    if not any(CHOICE in told for told in seen.evaluations.values()):
        return None
    return int((seen.honest(seen.clients) & (seen.used != seen.which)).sum())


def _detection(
    settings: Settings, recorder: Recorder, found: Clustered | None
) -> dict[str, Any] | None:
    """Who is held out in the end, by the strategy or else by its rule, and in every round."""
    held = None if found is None else detection(found, recorder.seen, screens=_screens(settings))
    if recorder.seen.byzantine is None or not (held or recorder.judged):
        return None
    curves = [list(shares) for shares in zip(*recorder.left_out, strict=True)]
    last = {name: curve[-1] for name, curve in zip(SHARES, curves, strict=True)}
    per_round = {f"{name}_per_round": own for name, own in zip(SHARES, curves, strict=True)}
    return {**(held or last), **per_round}


def _screens(settings: Settings) -> bool:
    """Whether the strategy holds clients out."""
    chosen = without_useless_checks(settings)
    return bool(chosen.get("quarantine") or chosen.get("reply_check"))


def _clusters(
    settings: Settings, recorder: Recorder, found: Clustered | None
) -> list[dict[str, Any]]:
    """Size and make-up of the clients of every model, and what is known about them."""
    assert recorder.last is not None
    seen = recorder.seen
    honest = seen.honest(seen.clients)
    rejected = np.array([client in recorder.rejected for client in seen.clients.tolist()])
    details = [UNKNOWN] * len(seen.models)
    if found is not None:
        details = cluster_findings(found, recorder.last, tolerance_of(settings))
        if no_reply_check(settings) is not None:  # local models are no minimisers: no bound holds
            details = [row | {"error_bound": None} for row in details]
    rows = []
    for k, more in enumerate(details):
        inside = seen.which == k
        count = int(inside.sum())
        known = None if recorder.truth is None else int(honest[inside].sum())
        rows.append(
            {
                "size": count,
                "honest": known,
                "byzantine": None if known is None else count - known,
                "rejected": int(rejected[inside].sum()),
            }
            | more
        )
    return rows


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


def _client_loss(recorder: Recorder) -> dict[str, Any]:
    """Per cluster, median and quartiles of what its clients report; few can move the median far."""
    names = ("client_loss", "client_loss_quartiles", "client_loss_per_round")
    if not any(recorder.losses):
        return dict.fromkeys(names)
    seen = recorder.seen
    by_cluster: list[list[float]] = [[] for _ in seen.models]
    for client, cluster in zip(seen.clients.tolist(), seen.which.tolist(), strict=True):
        found = seen.evaluations.get(client, {})
        if cluster != NO_MODEL and LOSS in found:
            by_cluster[cluster].append(found[LOSS])
    # Quartiles are losses of clients, not between two: these may be near the largest number.
    ends = [
        np.quantile(own, [0.25, 0.75], method="inverted_cdf").tolist() if own else None
        for own in by_cluster
    ]
    return dict(zip(names, (recorder.losses[-1], ends, recorder.losses), strict=True))
