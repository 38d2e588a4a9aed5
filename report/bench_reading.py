"""A bench folder read into a `Bench`: bench.json and the CSV tables beside it.

`bench.json` and `table.csv` are required; what else is missing leaves its part of the page out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from tagma.errors import TagmaError
from tagma.foreign_file import read_json
from tagma.report.bench_data import Bench, BenchAxis, BenchCell
from tagma.report.folder_files import csv_rows, readable
from tagma.report.run_data import ERROR, Curve
from tagma.server.results.cluster_scores import CLUSTERING

INDEX, TABLE = "bench.json", "table.csv"
REFERENCE, GENERAL_REFERENCE = "error_without_byzantine", "without_byzantine"
"""The column of the reference runs, for the estimation error and for any other metric."""
FALSE_POSITIVE = "false_positive"
LONGEST = 100_000
"""Steps of a curve that are read."""
ROLES = ("attack", "defence", "fraction")
_NAME = re.compile(r"\w[\w.-]{0,199}", re.ASCII)
_TIMES = ("seconds", "cpu_seconds", "clustering_seconds", "rounds_seconds", "messages")


def read_bench(folder: Path) -> Bench:
    """Read a bench folder; a file that is missing or not what it should be is a `TagmaError`."""
    with readable(folder):
        return _bench(folder, read_json(folder / INDEX))


def _bench(folder: Path, index: Mapping[str, Any]) -> Bench:
    axes = tuple(
        BenchAxis(
            key=str(axis["key"]),
            label=str(axis.get("label") or axis["key"]),
            role=str(axis.get("role")) if axis.get("role") in ROLES else "other",
            values=tuple(str(value) for value in axis["values"]),
        )
        for axis in index["axes"]
    )
    metric = str(index.get("metric") or ERROR)
    better = {str(name): str(way) for name, way in (index.get("better") or {ERROR: "low"}).items()}
    reference = REFERENCE if metric == ERROR else GENERAL_REFERENCE
    metrics = {
        metric,
        reference,
        FALSE_POSITIVE,
        *CLUSTERING,
        *map(str, index.get("metrics") or ()),
    }
    scores = [name for name in better if name not in CLUSTERING]
    curve = metric if metric in scores else next(iter(scores), ERROR)
    rows = csv_rows(folder / TABLE, required=True)
    if rows and "error_without_liars" in rows[0]:
        raise TagmaError(
            f"{folder / TABLE}: error_without_liars is called {REFERENCE} now; run the grid again"
        )
    times = {row["cell"]: _numbers(row, _TIMES) for row in csv_rows(folder / "timings.csv")}
    curves = _curves(folder / "rounds.csv", "round", curve)
    shares = _curves(folder / "iterations.csv", "iteration", "misclustering")
    high = {name for name, way in better.items() if way == "high"}
    cells = tuple(
        BenchCell(
            key=_name(row["cell"]),
            values={axis.key: row[axis.key] for axis in axes},
            seed=row["seed"],
            status=row["status"],
            reason=row["reason"],
            numbers=_numbers(row, metrics, high) if row["status"] == "ok" else {},
            times=times.get(row["cell"], {}),
            score_curve=curves.get(row["cell"]),
            misclustering_curve=shares.get(row["cell"]),
        )
        for row in rows
    )
    settings = index.get("settings")
    return Bench(
        folder=folder,
        name=str(index["name"]),
        title=str(index.get("title") or index["name"]),
        command=str(index.get("command") or ""),
        metric=metric,
        better="high" if metric in high else "low",
        curve=curve,
        curve_better="high" if curve in high else "low",
        reference=reference,
        axes=axes,
        cells=cells,
        total=int((index.get("cells") or {}).get("total", len(cells))),
        versions={str(k): str(v) for k, v in (index.get("versions") or {}).items()},
        hosts=tuple(str(host) for host in index.get("hosts") or ()),
        settings=None if not settings else str(settings),
    )


def _name(text: str) -> str:
    """The name of a file or a folder in the bench's."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text[:50]} is no name of a cell")
    return text


def _numbers(row: Mapping[str, str], names: Any, high: Container[str] = ()) -> dict[str, float]:
    """The numbers that are there; an error that is not a number counts as diverged."""
    found = {name: float(row[name]) for name in names if row.get(name)}
    return {
        name: math.inf if math.isnan(value) else value
        for name, value in found.items()
        if name not in high or math.isfinite(value)
    }


def _curves(path: Path, step: str, column: str) -> dict[str, Curve]:
    """The curve of each cell, step by step; NaN where it is not known, infinity: diverged."""
    points: dict[str, dict[int, float]] = defaultdict(dict)
    for row in csv_rows(path):
        if row.get(column):
            value = float(row[column])
            points[row["cell"]][int(row[step])] = math.inf if math.isnan(value) else value
    return {
        cell: tuple(curve.get(at, math.nan) for at in range(min(max(curve), LONGEST) + 1))
        for cell, curve in points.items()
    }
