"""Run folders and bench folders for the tests of reports, and a page taken apart."""

import csv
import json
import math
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

METRICS: dict[str, Any] = {
    "misclustering": 0.0,
    "misclustering_per_iteration": [0.5, 0.25, 0.0],
    "estimation_error": 0.13,
    "estimation_error_per_round": [0.2, 0.15, 0.13],
    "oracle_error": 0.125,
    "oracle_error_per_round": [0.16, 0.13, 0.125],
    "clusters": [
        {"size": 3, "honest": 2, "byzantine": 1, "trimmed": 1, "radius": 0.4},
        {"size": 2, "honest": 2, "byzantine": 0, "trimmed": 0, "radius": 0.4},
    ],
    "clustering": {
        "name": "trimmed_kmeans",
        "iterations": 2,
        "stopped": "fixed point",
        "scale": 0.2,
    },
    "replies": {"used": 15, "rejected": {}, "rejected_clients": {}},
    "seconds": {"local_model": 1.0, "clustering": 0.5, "optimisation": 2.0, "total": 3.5},
    "messages": 15,
    "settings": {
        "task": "mixture_regression",
        "attack": "sign_flip",
        "strategy": "three_stage",
        "clustering": "trimmed_kmeans",
        "aggregation": "trimmed_mean",
        "pre": ["nnm"],
        "quarantine": True,
        "reply_check": False,
        "rounds": 2,
    },
    "seed": 0,
    "engine": "inprocess",
    "version": "0.1.0",
}
# client, assigned, true, byzantine, trimmed, x, y: true cluster 1 was found as 0, and 0 as 1.
CLIENTS: list[list[Any]] = [
    [0, 0, 1, 0, 0, -1.0, 0.0],
    [1, 0, 1, 0, 0, -1.1, 0.1],
    [2, 1, 0, 0, 0, 1.0, 0.0],
    [3, 1, 0, 0, 0, 1.1, 0.1],
    [4, 0, "", 1, 1, 50.0, 0.0],
]
HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\ud800"


def folder(
    path: Path,
    clients: list[list[Any]] | None = None,
    overrides: list[str] | None = None,
    work: str = "local_model",
    config: str = "seed: 0\n",
    **metrics: Any,
) -> Path:
    """A run folder of 5 clients in 2 clusters, with some things changed.

    Its score is the estimation error, where that has a curve, unless `scores` says otherwise.
    """
    (path / ".hydra").mkdir(parents=True)
    content = _with_scores(METRICS | metrics)
    (path / "metrics.json").write_text(json.dumps(content))
    with (path / "clusters.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        names = ["client", "assigned", "true", "byzantine", "trimmed", "x", "y"]
        writer.writerow([*names, "quarantined", "excluded"])
        writer.writerows(CLIENTS if clients is None else clients)
    with (path / "history.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["round", "work", "estimation_error", "used", "rejected", "seconds"])
        writer.writerow([1, work, "", 5, 0, 1.0])
    centres = np.array([[-1.05, 0.05, 7.0], [1.05, 0.05, 7.0]])
    plane = {"projection": np.eye(2, 3), "origin": np.array([0.0, 0.0, 7.0])}
    save_file({"models": centres, "centres": centres, **plane}, path / "models.safetensors")
    (path / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides or []))
    (path / ".hydra" / "config.yaml").write_text(config)
    return path


def _with_scores(metrics: dict[str, Any]) -> dict[str, Any]:
    def scored(name: str, **more: str) -> dict[str, Any] | None:
        curve = metrics[f"{name}_per_round"]
        return curve and {**more, "value": metrics[name], "per_round": curve}

    error = scored("estimation_error", title="estimation error", better="low")
    oracle = scored("oracle_error")
    return {
        "scores": {"estimation_error": error} if error else {},
        "oracle_scores": {"estimation_error": oracle} if oracle else None,
    } | metrics


class Page(HTMLParser):
    """The page's elements and text; fails on a tag that is not closed in order."""

    VOID = frozenset({"meta", "input", "link", "img", "br"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def text(self, tag: str) -> str:
        """All text directly in elements of this name."""
        return "".join(data for name, data in self.texts if name == tag)

    def having(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of the elements of this name that have the given ones."""
        found = [attrs for name, attrs in self.elements if name == tag]
        return [one for one in found if all(one.get(k) == v for k, v in attributes.items())]


ATTACKS, DEFENCES, SEEDS = (
    ("none", "sign_flip", "alie"),
    ("undefended", "paper", "tagma"),
    (0, 1, 2),
)
# The error of every defence under every attack; seed s adds s hundredths.
ERRORS: dict[tuple[str, str], float] = {
    ("none", "undefended"): 0.10, ("sign_flip", "undefended"): math.inf,
    ("alie", "undefended"): 0.3,
    ("none", "paper"): 0.12, ("sign_flip", "paper"): 0.20, ("alie", "paper"): 0.25,
    ("none", "tagma"): 0.11, ("sign_flip", "tagma"): 0.15, ("alie", "tagma"): 0.16,
}  # fmt: skip
ATTACK = {"key": "attack", "label": "attack", "role": "attack", "values": list(ATTACKS)}
DEFENCE = {"key": "defence", "label": "defence", "role": "defence", "values": list(DEFENCES)}


def grid_rows() -> list[dict[str, Any]]:
    """One row per cell: a defence that diverges under one attack, for one seed."""
    rows = []
    for attack, defence, seed in product(ATTACKS, DEFENCES, SEEDS):
        error = ERRORS[attack, defence] + 0.01 * seed
        if math.isinf(error) and seed:
            error = 40.0
        rows.append(
            {
                "cell": f"{attack}-{defence}-{seed}", "attack": attack, "defence": defence,
                "seed": seed, "status": "ok", "reason": "", "estimation_error": error,
                "misclustering": 0.25 if defence == "undefended" else 0.0,
            }
        )  # fmt: skip
    return rows


def bench_folder(
    path: Path,
    rows: list[dict[str, Any]] | None = None,
    axes: list[dict[str, Any]] | None = None,
    pictures: bool = True,
    **index: Any,
) -> Path:
    """A bench folder of 3 attacks, 3 defences and 3 seeds, with some things changed."""
    rows = grid_rows() if rows is None else rows
    path.mkdir(parents=True)
    described: dict[str, Any] = {
        "name": "small", "title": "Three attacks", "command": "tagma bench bench=small",
        "metric": "estimation_error", "metrics": ["estimation_error", "misclustering"],
        "axes": [ATTACK, DEFENCE] if axes is None else axes, "seeds": list(SEEDS),
        "cells": {"total": len(rows), "done": len(rows), "failed": 0},
        "versions": {"tagma": "0.1.0", "code": "abc123", "python": "3.11"},
        "hosts": ["one computer"], "settings": "rounds: 2\n",
    }  # fmt: skip
    (path / "bench.json").write_text(json.dumps(described | index))
    _write_table(path / "table.csv", rows)
    _write_table(
        path / "timings.csv",
        [{"cell": row["cell"], "seconds": 1.5, "cpu_seconds": 1.2, "messages": 60} for row in rows],
    )
    done = [row for row in rows if row["status"] == "ok" and row["estimation_error"] != ""]
    _write_table(
        path / "rounds.csv",
        [
            {"cell": row["cell"], "round": i, "estimation_error": row["estimation_error"] * scale}
            for row in done
            for i, scale in enumerate((2.0, 1.5, 1.0))
        ],
    )
    _write_table(
        path / "iterations.csv",
        [
            {"cell": row["cell"], "iteration": i, "misclustering": share}
            for row in done
            for i, share in enumerate((0.5, row["misclustering"]))
        ],
    )
    for row in done if pictures else []:
        if row["seed"] == SEEDS[0]:
            folder(path / "cells" / str(row["cell"]))
    return path


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """A table, or no file for no rows."""
    if not rows:
        return
    with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def rows_where(**where: Any) -> list[dict[str, Any]]:
    return [row for row in grid_rows() if all(row[k] == v for k, v in where.items())]
