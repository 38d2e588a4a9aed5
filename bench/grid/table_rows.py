"""The rows of a grid's tables, from what became of its cells.

What is the same whenever a grid runs (`table`, `rounds`, `iterations`) is apart from what is not
(`timings`). A diverged error is infinite; what is not known is None.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from tagma.bench.grid.expand import GridPoint
from tagma.bench.grid.plan import MISCLUSTERING, Plan
from tagma.bench.grid.table_files import (
    COUNTS,
    NUMBER,
    OUTCOME,
    PROVENANCE,
    RATES,
    TEXT,
    WHOLE,
    Columns,
    Row,
)
from tagma.bench.runner import Outcome
from tagma.report.bench_reading import GENERAL_REFERENCE, REFERENCE
from tagma.server.results.cluster_scores import CLUSTERING
from tagma.server.results.scores import ERRORS

TIMINGS: Columns = {
    "cell": TEXT, "seconds": NUMBER, "cpu_seconds": NUMBER, "clustering_seconds": NUMBER,
    "rounds_seconds": NUMBER, "messages": WHOLE, "bytes_down": WHOLE, "bytes_up": WHOLE,
    "host": TEXT, "started": TEXT,
}  # fmt: skip
ITERATIONS: Columns = {"cell": TEXT, "iteration": WHOLE, MISCLUSTERING: NUMBER}
ERROR = "estimation_error"
ORACLE = "oracle_error"
NUMBERS = (ORACLE, *COUNTS, *RATES)
"""What a gate may look at beside the scores."""


def table_columns(plan: Plan) -> Columns:
    """The columns of the table: a numeric axis is a column of numbers."""
    own: Columns = {}
    for axis in plan.axes:
        names = [value.name for value in axis.values]
        numbers = all(isinstance(n, int | float) and not isinstance(n, bool) for n in names)
        own[axis.key] = NUMBER if numbers else TEXT
    beside = (*CLUSTERING, _oracle(plan), _reference(plan))
    scores = dict.fromkeys((*plan.scores, *beside), NUMBER)
    return {"cell": TEXT} | own | OUTCOME | scores | COUNTS | RATES | PROVENANCE


def round_columns(plan: Plan) -> Columns:
    """The columns of the curves: a score each."""
    return {"cell": TEXT, "round": WHOLE} | dict.fromkeys(plan.scores, NUMBER)


def _oracle(plan: Plan) -> str:
    return ORACLE if plan.metric in (ERROR, *CLUSTERING) else f"oracle_{plan.metric}"


def _reference(plan: Plan) -> str:
    return REFERENCE if plan.metric == ERROR else GENERAL_REFERENCE


def table_rows(
    plan: Plan, points: Sequence[GridPoint], outcomes: Mapping[str, Outcome]
) -> Iterator[Row]:
    """One row per point, in the grid's order."""
    metric = str(plan.metric)
    for point in points:
        outcome = outcomes[point.cell.key]
        status = "timed out" if outcome.timed_out else "failed"
        row = {
            "cell": point.cell.key,
            **point.values,
            "seed": point.seed,
            "status": status if outcome.result is None else "ok",
            "reason": outcome.error,
            "config": point.cell.configuration,
        }
        if outcome.result is not None:
            metrics = outcome.result["metrics"]
            oracle = (metrics["oracle_scores"] or {}).get(metric) or {}
            row |= {f"oracle_{metric}": oracle.get("value")} | numbers_of(metrics)
            row |= outcome.result["provenance"]
        if point.reference is not None:
            yardstick = outcomes[point.reference.key].result
            known = numbers_of(yardstick["metrics"]) if yardstick else {}
            row[_reference(plan)] = known.get(metric)
        yield row


def timing_rows(outcomes: Mapping[str, Outcome]) -> Iterator[Row]:
    """What every finished cell took."""
    for key, outcome in outcomes.items():
        if outcome.result is not None:
            metrics = outcome.result["metrics"]
            yield {
                "cell": key,
                "clustering_seconds": metrics["seconds"].get("clustering"),
                "rounds_seconds": metrics["seconds"].get("optimisation"),
                "messages": metrics["messages"],
                **{f"bytes_{way}": count for way, count in metrics["bytes"].items()},
                **outcome.result["timing"],
            }


def round_rows(outcomes: Mapping[str, Outcome]) -> Iterator[Row]:
    """The scores of every finished cell after each round in which one is known."""
    for key, outcome in outcomes.items():
        scores = outcome.result["metrics"]["scores"] if outcome.result else {}
        curves = {name: score["per_round"] for name, score in scores.items()}
        for number, values in enumerate(zip(*curves.values(), strict=True)):
            known = {name: _value(name, one) for name, one in zip(curves, values, strict=True)}
            if any(value is not None for value in known.values()):
                yield {"cell": key, "round": number, **known}


def iteration_rows(outcomes: Mapping[str, Outcome]) -> Iterator[Row]:
    """The misclustering of every finished cell after each iteration of stage II."""
    for key, outcome in outcomes.items():
        shares = outcome.result["metrics"]["misclustering_per_iteration"] if outcome.result else ()
        for number, share in enumerate(shares or ()):
            yield {"cell": key, "iteration": number, MISCLUSTERING: share}


def numbers_of(metrics: Mapping[str, Any]) -> Row:
    """Scores and counts of a finished run."""
    clusters, detection = metrics["clusters"], metrics.get("detection") or {}
    return {
        **{name: _value(name, score["value"]) for name, score in metrics["scores"].items()},
        **{name: metrics[name] for name in CLUSTERING},
        ORACLE: metrics["oracle_error"],
        "clusters_found": len(clusters),
        "replies_used": metrics["replies"]["used"],
        "replies_rejected": sum(metrics["replies"]["rejected"].values()),
        "suspects": sum(cluster["suspect"] is not None for cluster in clusters),
        **{name: detection.get(name) for name in RATES},
    }


def _value(name: str, value: float | None) -> float | None:
    """A score; an error that is not known has diverged, any other score was not measured."""
    return inf if value is None and name in ERRORS else value
