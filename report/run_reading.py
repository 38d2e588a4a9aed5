"""A run folder read into a `Run`.

Only plain formats are read (JSON, CSV, YAML, safetensors). `metrics.json` is required; any other
file or value may be missing. A hole in a list of numbers is NaN.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from tagma.errors import TagmaError
from tagma.foreign_file import (
    MOST_YAML,
    in_folder,
    read_arrays,
    read_json,
    read_text,
    read_yaml,
)
from tagma.report.folder_files import csv_rows, readable
from tagma.report.oracle_yardstick import no_yardstick
from tagma.report.run_data import (
    ClientRow,
    Cluster,
    Curve,
    HowClustered,
    Point,
    Reasons,
    ReplyCounts,
    Run,
    RunScore,
)
from tagma.server.results.detection import SHARES
from tagma.server.results.scores import ERRORS

_MOST = 2**53
"""Of whatever is counted: up to here, floating numbers are exact."""


def read_run(folder: Path) -> Run:
    """Read a run folder; a file that is not what it should be is a `TagmaError`."""
    with readable(folder):
        return _run(folder, read_json(folder / "metrics.json"))


def _run(folder: Path, metrics: Mapping[str, Any]) -> Run:
    misclustering = _share(metrics.get("misclustering"))
    if "oracle_without_liars" in metrics:
        raise TagmaError(
            f"{folder}: oracle_without_liars is called oracle_without_byzantine now; run it again"
        )
    clusters, how = _clusters(metrics), metrics.get("clustering", {})
    scores = metrics.get("scores") or {}
    clients = [_client(row, scores) for row in _client_rows(folder / "clusters.csv")]
    known = misclustering is not None or any(one.honest is not None for one in clusters)
    overrides = in_folder(folder, ".hydra", "overrides.yaml")
    config = in_folder(folder, ".hydra", "config.yaml")
    return Run(
        folder=folder,
        misclustering=misclustering,
        misclustering_curve=_curve(metrics.get("misclustering_per_iteration")),
        scores=_scores(scores, metrics),
        oracle_without_byzantine=bool(metrics.get("oracle_without_byzantine")),
        clusters=clusters,
        loss_curves=_loss_curves(metrics.get("client_loss_per_round"), len(clusters)),
        clustering=None
        if how is None
        else HowClustered(
            _whole(how.get("iterations")), _text(how.get("stopped")), _number(how.get("scale"))
        ),
        replies=_replies(metrics.get("replies") or {}),
        seconds={
            str(k): float(v) for k, v in (metrics.get("seconds") or {}).items() if v is not None
        },
        facts={
            name: str(metrics[name])
            for name in ("seed", "engine", "version", "messages", "contradiction")
            if metrics.get(name) is not None
        },
        bytes={way: int(many) for way, many in _sent(metrics).items() if many is not None},
        warnings=tuple(str(text) for text in metrics.get("warnings") or ()),
        clients=tuple(one if known else replace(one, true=None, byzantine=None) for one in clients),
        centres=_centres(folder / "models.safetensors"),
        rounds=tuple(
            row | {name: _number(row.get(name)) for name in (*scores, *SHARES, "seconds")}
            for row in csv_rows(folder / "history.csv")
        ),
        choices=_choices(metrics.get("settings") or {}),
        environment={
            str(name): str(value)
            for name, value in (metrics.get("environment") or {}).items()
            if value is not None
        },
        overrides=tuple(str(o) for o in read_yaml(overrides)) if overrides.exists() else None,
        config=read_text(config, MOST_YAML) if config.exists() else None,
    )


def _choices(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(settings)
    return found | {"pre": list(found.get("pre") or ())}


def _sent(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {way: (metrics.get("bytes") or {}).get(way) for way in ("down", "up")}


def _client_rows(path: Path) -> list[dict[str, str]]:
    rows = csv_rows(path)
    if rows and "client" not in rows[0]:
        older = "machine" in rows[0]
        why = "`machine` of an older version is called `client` now: run it again"
        raise TagmaError(f"{path}: it has no column `client`; {why if older else 'damaged'}")
    return rows


def _scores(scores: Mapping[str, Any], metrics: Mapping[str, Any]) -> tuple[RunScore, ...]:
    """The scores that were measured at least once."""
    oracles = metrics.get("oracle_scores") or {}
    found = (
        _score(str(name), scores, oracles.get(name) or {}, metrics)
        for name, score in scores.items()
        if score.get("of") is None  # no part of another
    )
    return tuple(score for score in found if score.value is not None or score.points)


def _score(
    name: str, scores: Mapping[str, Any], oracle: Mapping[str, Any], metrics: Mapping[str, Any]
) -> RunScore:
    score = scores[name]
    value, curve = _scored(name, score)
    theirs, their_curve = _scored(name, oracle)
    worst, best = (scores.get(f"{name}_{part}") or {} for part in ("worst_decile", "best_decile"))
    found = RunScore(
        name=name,
        title=str(score.get("title") or name),
        better="high" if score.get("better") == "high" else "low",
        value=value,
        curve=curve,
        oracle=theirs,
        oracle_curve=their_curve,
        worst_decile=_number(worst.get("value")),
        worst_curve=_curve(worst.get("per_round")),
        best_curve=_curve(best.get("per_round")),
    )
    if theirs is None:
        return found
    suspect = bool(metrics.get("oracle_suspect"))
    why = no_yardstick(found.word, found.better, value, theirs, their_curve, suspect)
    return replace(found, no_yardstick=why)


def _scored(name: str, score: Mapping[str, Any]) -> tuple[float | None, Curve | None]:
    """A number and its curve; an error that is missing in a round has diverged."""
    value, curve = _number(score.get("value")), _curve(score.get("per_round"))
    if name not in ERRORS or curve is None:
        return value, curve
    lost = value is None or math.isnan(value)
    return math.inf if lost else value, tuple(math.inf if math.isnan(v) else v for v in curve)


def _loss_curves(rounds: list[Any] | None, clusters: int) -> tuple[Curve, ...]:
    """The curves of all clusters, where there are any; a cluster may come late."""
    table = [list(chain(row or (), repeat(None, clusters)))[:clusters] for row in rounds or ()]
    curves = (
        tuple(math.nan if v is None else float(v) for v in one) for one in zip(*table, strict=True)
    )
    return tuple(curves)


def _number(value: object) -> float | None:
    return None if value is None or value == "" else float(str(value))


def _whole(value: object) -> int | None:
    number = _number(value)
    if number is None or not math.isfinite(number):
        return None
    if abs(number) > _MOST:
        raise ValueError(f"{number:g} is no count")
    return int(number)


def _share(value: object) -> float | None:
    number = _number(value)
    if number is None or not math.isfinite(number):
        return None
    if not 0 <= number <= 1:
        raise ValueError(f"{number:g} is no share")
    return number


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _curve(values: list[object] | None) -> Curve | None:
    numbers = [_number(value) for value in values or ()]
    return tuple(math.nan if number is None else number for number in numbers) or None


def _clusters(metrics: Mapping[str, Any]) -> tuple[Cluster, ...]:
    losses = chain(metrics.get("client_loss") or (), repeat(None))
    quartiles = chain(metrics.get("client_loss_quartiles") or (), repeat(None))
    return tuple(
        Cluster(
            size=int(cluster["size"]),
            honest=_whole(cluster.get("honest")),
            byzantine=_whole(cluster.get("byzantine")),
            trimmed=_whole(cluster.get("trimmed")),
            radius=_number(cluster.get("radius")),
            client_loss=_number(loss),
            loss_quartiles=None if ends is None else (float(ends[0]), float(ends[1])),
            error_bound=_number(cluster.get("error_bound")),
            excluded=_whole(cluster.get("excluded")),
            suspect=_text(cluster.get("suspect")),
            stretched=cluster.get("stretched") is True,
        )
        for cluster, loss, ends in zip(
            metrics.get("clusters") or (), losses, quartiles, strict=False
        )
    )


def _replies(replies: Mapping[str, Any]) -> ReplyCounts:
    return ReplyCounts(
        used=_whole(replies.get("used")),
        kept=_whole(replies.get("kept")) or 0,
        reasons=_reasons(replies.get("rejected")),
        clients={
            str(client): _reasons(reasons)
            for client, reasons in (replies.get("rejected_clients") or {}).items()
        },
    )


def _reasons(counts: Mapping[str, Any] | None) -> Reasons:
    return {str(reason): int(count) for reason, count in (counts or {}).items()}


def _client(row: Mapping[str, str], scores: Collection[str]) -> ClientRow:
    x, y = _number(row.get("x")), _number(row.get("y"))
    byzantine = _whole(row.get("byzantine"))
    return ClientRow(
        name=row["client"],
        assigned=_whole(row.get("assigned")),
        true=_whole(row.get("true")),
        byzantine=None if byzantine is None else bool(byzantine),
        trimmed=bool(_whole(row.get("trimmed"))),
        quarantined=bool(_whole(row.get("quarantined"))),
        excluded=bool(_whole(row.get("excluded"))),
        place=(x, y) if x is not None and y is not None and _finite(x) and _finite(y) else None,
        measured={
            name: value
            for name in scores
            if (value := _number(row.get(name))) is not None and _finite(value)
        },
    )


def _centres(path: Path) -> tuple[Point, ...]:
    """The centres in the picture's plane; NaN for one that is not finite."""
    if not path.exists():
        return ()
    tensors = load(read_arrays(path))
    if not {"centres", "projection", "origin"} <= tensors.keys():
        return ()
    centres, projection, origin = (
        np.asarray(tensors[name], dtype=float) for name in ("centres", "projection", "origin")
    )
    places = (centres - origin) @ projection.T
    return tuple((float(x), float(y)) for x, y in places)
