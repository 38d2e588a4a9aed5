"""The folder of a grid: bench.json and the tables, all made from finished cells."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tagma.atomic_file import whole_file
from tagma.bench.cell_identity import versions
from tagma.bench.grid.expand import GridPoint
from tagma.bench.grid.plan import Plan
from tagma.bench.grid.table_files import write_table
from tagma.bench.grid.table_rows import (
    ITERATIONS,
    TIMINGS,
    iteration_rows,
    round_columns,
    round_rows,
    table_columns,
    table_rows,
    timing_rows,
)
from tagma.bench.runner import Outcome
from tagma.server.results.cluster_scores import CLUSTERING


def write_results(
    plan: Plan, points: Sequence[GridPoint], outcomes: Mapping[str, Outcome], command: str
) -> None:
    """All tables, then bench.json: with it, the folder is whole."""
    folder = plan.folder
    write_table(folder / "table", table_columns(plan), table_rows(plan, points, outcomes))
    write_table(folder / "timings", TIMINGS, timing_rows(outcomes))
    of_grid = {point.cell.key: outcomes[point.cell.key] for point in points}
    write_table(folder / "rounds", round_columns(plan), round_rows(of_grid))
    write_table(folder / "iterations", ITERATIONS, iteration_rows(of_grid))
    about = _about(plan, points, outcomes, command)
    with whole_file(folder / "bench.json") as partial:
        partial.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _about(
    plan: Plan, points: Sequence[GridPoint], outcomes: Mapping[str, Outcome], command: str
) -> dict[str, Any]:
    ends = [outcomes[point.cell.key] for point in points]
    done = [end.result for end in ends if end.result is not None]
    return {
        "name": plan.name,
        "title": plan.title,
        "command": command,
        "metric": plan.metric,
        "metrics": [*plan.scores, *CLUSTERING],
        "better": {**plan.scores, **CLUSTERING},
        "axes": [
            {
                "key": axis.key,
                "label": axis.key,
                "role": axis.role,
                "values": [value.name for value in axis.values],
            }
            for axis in plan.axes
        ],
        "seeds": list(plan.seeds),
        "cells": {"total": len(ends), "done": len(done), "failed": len(ends) - len(done)},
        "versions": {"tagma": versions()["version"]}
        | {name: text for name, text in versions().items() if name != "version"},
        "hosts": sorted({result["timing"]["host"] for result in done}),
        "settings": _settings(plan),
    }


def _settings(plan: Plan) -> str:
    """What all cells share, and what the axes' values stand for, as YAML."""
    axes = {
        axis.key: {str(value.name): list(value.overrides) for value in axis.values}
        for axis in plan.axes
    }
    described = {"common": list(plan.common), "axes": axes, "seeds": list(plan.seeds)}
    if plan.reference:
        described["reference"] = list(plan.reference)
    if plan.skip:
        described["skip"] = [dict(rule) for rule in plan.skip]
    if plan.gate:
        described["gate"] = [requirement.described for requirement in plan.gate]
    return yaml.safe_dump(described, sort_keys=False, width=1000)
