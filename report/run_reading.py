"""A run folder read into a `Run`.

Only plain formats are read (JSON, CSV, YAML, safetensors). `metrics.json` is required; any other
file or value may be missing. A hole in a list of numbers is NaN.
"""

import csv
import json
import math
from collections.abc import Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf
from safetensors import safe_open

from tagma.report.run_data import (
    Cluster,
    Clustering,
    Curve,
    LocalClient,
    Point,
    Reasons,
    Replies,
    Round,
    Run,
)


def read_run(folder: Path) -> Run:
    """Read a run folder. Raises `FileNotFoundError` if it has no `metrics.json`."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    misclustering = _number(metrics.get("misclustering"))
    overrides = folder / ".hydra" / "overrides.yaml"
    settings = folder / ".hydra" / "config.yaml"
    return Run(
        folder=folder,
        misclustering=misclustering if _finite(misclustering) else None,
        misclustering_curve=_curve(metrics.get("misclustering_per_iteration")),
        error=_number(metrics.get("estimation_error")),
        error_curve=_curve(metrics.get("estimation_error_per_round")),
        oracle=_number(metrics.get("oracle_error")),
        oracle_curve=_curve(metrics.get("oracle_error_per_round")),
        clusters=_clusters(metrics),
        clustering=_clustering(metrics.get("clustering") or {}),
        replies=_replies(metrics.get("replies") or {}),
        seconds={
            str(k): float(v) for k, v in (metrics.get("seconds") or {}).items() if v is not None
        },
        facts={
            name: str(metrics[name])
            for name in ("seed", "engine", "version", "messages")
            if metrics.get(name) is not None
        },
        warnings=tuple(str(text) for text in metrics.get("warnings") or ()),
        clients=tuple(_client(row) for row in _rows(folder / "clusters.csv")),
        centres=_centres(folder / "models.safetensors"),
        rounds=tuple(_round(row) for row in _rows(folder / "history.csv")),
        overrides=tuple(str(o) for o in OmegaConf.load(overrides)) if overrides.exists() else None,
        settings=settings.read_text(encoding="utf-8") if settings.exists() else None,
    )


def _number(value: object) -> float | None:
    return None if value is None or value == "" else float(str(value))


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None or not math.isfinite(number) else int(number)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _curve(values: list[object] | None) -> Curve | None:
    numbers = [_number(value) for value in values or ()]
    return tuple(math.nan if number is None else number for number in numbers) or None


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _clustering(clustering: Mapping[str, Any]) -> Clustering:
    name, stopped = clustering.get("name"), clustering.get("stopped")
    return Clustering(
        name=None if name is None else str(name),
        iterations=_whole(clustering.get("iterations")),
        stopped=None if stopped is None else str(stopped),
        scale=_number(clustering.get("scale")),
        restarts=_whole(clustering.get("restarts")),
    )


def _clusters(metrics: Mapping[str, Any]) -> tuple[Cluster, ...]:
    losses = chain(metrics.get("client_loss") or (), repeat(None))
    return tuple(
        Cluster(
            size=int(cluster["size"]),
            honest=_whole(cluster.get("honest")),
            byzantine=_whole(cluster.get("byzantine")),
            trimmed=_whole(cluster.get("trimmed")),
            radius=_number(cluster.get("radius")),
            client_loss=_number(loss),
            error_bound=_number(cluster.get("error_bound")),
            excluded=_whole(cluster.get("excluded")),
            suspect=None if cluster.get("suspect") is None else str(cluster["suspect"]),
        )
        for cluster, loss in zip(metrics.get("clusters") or (), losses, strict=False)
    )


def _replies(replies: Mapping[str, Any]) -> Replies:
    return Replies(
        used=_whole(replies.get("used")),
        reasons=_reasons(replies.get("rejected")),
        clients={
            str(client): _reasons(reasons)
            for client, reasons in (replies.get("rejected_clients") or {}).items()
        },
    )


def _reasons(counts: Mapping[str, Any] | None) -> Reasons:
    return {str(reason): int(count) for reason, count in (counts or {}).items()}


def _client(row: Mapping[str, str]) -> LocalClient:
    x, y = _number(row.get("x")), _number(row.get("y"))
    byzantine = _whole(row.get("byzantine"))
    return LocalClient(
        name=row["client"],
        assigned=_whole(row.get("assigned")),
        true=_whole(row.get("true")),
        byzantine=None if byzantine is None else bool(byzantine),
        trimmed=bool(_whole(row.get("trimmed"))),
        place=(x, y) if x is not None and y is not None and _finite(x) and _finite(y) else None,
    )


def _round(row: Mapping[str, str]) -> Round:
    return Round(
        number=row.get("round", ""),
        work=row.get("work", ""),
        error=_number(row.get("estimation_error")),
        used=row.get("used", ""),
        rejected=row.get("rejected", ""),
        seconds=_number(row.get("seconds")),
    )


def _centres(path: Path) -> tuple[Point, ...]:
    """The centres in the picture's plane; NaN for one that is not finite."""
    if not path.exists():
        return ()
    with safe_open(path, framework="numpy") as file:
        if not {"centres", "projection", "origin"} <= set(file.keys()):
            return ()
        centres, projection, origin = (
            np.asarray(file.get_tensor(name), dtype=float)
            for name in ("centres", "projection", "origin")
        )
    places = (centres - origin) @ projection.T
    return tuple((float(x), float(y)) for x, y in places)
