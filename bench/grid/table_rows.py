"""The rows of a grid's tables, from what became of its cells.

What is the same whenever a grid runs (`table`, `rounds`, `iterations`) is apart from what is not
(`timings`). A diverged error is infinite; what is not known is None.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from tagma.bench.grid.axis import Axis
from tagma.bench.grid.expand import GridPoint
from tagma.bench.grid.table_files import (
    NUMBER,
    OUTCOME,
    PROVENANCE,
    SCORES,
    TEXT,
    WHOLE,
    Columns,
    Row,
)
from tagma.bench.runner import Outcome

TIMINGS: Columns = {
    "cell": TEXT, "seconds": NUMBER, "cpu_seconds": NUMBER, "clustering_seconds": NUMBER,
    "rounds_seconds": NUMBER, "messages": WHOLE, "host": TEXT, "started": TEXT,
}  # fmt: skip
ROUNDS: Columns = {"cell": TEXT, "round": WHOLE, "estimation_error": NUMBER}
ITERATIONS: Columns = {"cell": TEXT, "iteration": WHOLE, "misclustering": NUMBER}


def table_columns(axes: Sequence[Axis]) -> Columns:
    """The columns of the table: a numeric axis is a column of numbers."""
    own: Columns = {}
    for axis in axes:
        names = [value.name for value in axis.values]
        numbers = all(isinstance(n, int | float) and not isinstance(n, bool) for n in names)
        own[axis.key] = NUMBER if numbers else TEXT
    return {"cell": TEXT} | own | OUTCOME | SCORES | PROVENANCE


def table_rows(points: Sequence[GridPoint], outcomes: Mapping[str, Outcome]) -> Iterator[Row]:
    """One row per point, in the grid's order."""
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
            row |= scores(outcome.result["metrics"]) | outcome.result["provenance"]
        if point.reference is not None:
            yardstick = outcomes[point.reference.key].result
            row["error_without_byzantine"] = _error(yardstick["metrics"]) if yardstick else None
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
                **outcome.result["timing"],
            }


def curve_rows(
    outcomes: Mapping[str, Outcome], curve: str, count: str, value: str
) -> Iterator[Row]:
    """The points of one curve of every finished cell."""
    for key, outcome in outcomes.items():
        points = outcome.result["metrics"][curve] if outcome.result else None
        for number, point in enumerate(points or ()):
            yield {"cell": key, count: number, value: inf if point is None else point}


def scores(metrics: Mapping[str, Any]) -> Row:
    """The scores of a finished run; a diverged error is infinite."""
    clusters = metrics["clusters"]
    return {
        "estimation_error": _error(metrics),
        "misclustering": metrics["misclustering"],
        "oracle_error": metrics["oracle_error"],
        "clusters_found": len(clusters),
        "replies_used": metrics["replies"]["used"],
        "replies_rejected": sum(metrics["replies"]["rejected"].values()),
        "suspects": sum(cluster["suspect"] is not None for cluster in clusters),
    }


def _error(metrics: Mapping[str, Any]) -> float | None:
    """The error; infinite if the run diverged, None if the task does not know it."""
    error: float | None = metrics["estimation_error"]
    return inf if error is None and metrics["estimation_error_per_round"] is not None else error
